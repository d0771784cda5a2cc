#include "harness/report/page_style.h"

namespace abba::report {

std::string_view page_style() {
  return R"css(
:root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--ink:#1d2329;--soft:#5d6873;--line:#e2e5e8;
--good:#12713f;--good-bg:#dff3e7;--bad:#a6222b;--bad-bg:#fbe3e4;--warn:#85560a;--warn-bg:#fcefd3;
--neutral:#1f518f;--neutral-bg:#e1ecf9;--muted:#5d6873;--muted-bg:#eceef0;--code:#f1f2f3}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1c2024;--ink:#e4e7ea;--soft:#9aa5b0;
--line:#30363c;--good:#7fdba6;--good-bg:#14382a;--bad:#ff9ea3;--bad-bg:#48191e;--warn:#f2c46d;
--warn-bg:#43310d;--neutral:#9cc5f7;--neutral-bg:#1a3250;--muted:#9aa5b0;--muted-bg:#2a2f34;
--code:#262b30}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
main{max-width:66rem;margin:0 auto;padding:2.2rem 1.2rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 1rem;letter-spacing:-.01em}
h2{font-size:1.15rem;margin:0 0 .7rem}
h3{font-size:1rem;margin:1.5rem 0 .5rem}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:1.1rem 1.3rem;margin:0 0 1rem}
section.first{border:0;background:none;padding:0 0 .4rem}
p{margin:.4rem 0 .8rem;overflow-wrap:anywhere}
section.first>p:first-of-type{font-size:1.12rem}
nav{margin:0 0 1.4rem;font-size:.88rem;line-height:1.9}
nav a{color:var(--soft);text-decoration:none;margin-right:1.1rem;white-space:nowrap}
nav a:hover{color:var(--ink);text-decoration:underline}
.scroll{overflow-x:auto;margin:.3rem 0 .9rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{padding:.36rem .7rem .36rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft);white-space:nowrap}
th.n,td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
tr:last-child td{border-bottom:0}
code{background:var(--code);border-radius:4px;padding:.08em .32em;font-size:.88em;
font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
pre{background:var(--code);border-radius:8px;padding:.8rem 1rem;overflow-x:auto;font-size:.86rem;
margin:.3rem 0 .9rem}
pre code{background:none;padding:0}
ul{margin:.3rem 0 .9rem;padding-left:1.2rem}
li{margin:.25rem 0;overflow-wrap:anywhere}
.chip{display:inline-block;border-radius:999px;padding:.05rem .62rem;font-weight:600;
font-size:.86em;white-space:nowrap}
.good{color:var(--good);background:var(--good-bg)}
.bad{color:var(--bad);background:var(--bad-bg)}
.warn{color:var(--warn);background:var(--warn-bg)}
.neutral{color:var(--neutral);background:var(--neutral-bg)}
.muted{color:var(--muted);background:var(--muted-bg)}
figure{margin:.5rem 0 1rem}
figure svg{display:block;width:100%;height:auto}
figcaption{color:var(--soft);font-size:.86rem;margin-top:.3rem}
details{margin:.4rem 0 .9rem}
summary{cursor:pointer;color:var(--soft);font-size:.9rem}
@media print{section{break-inside:avoid}nav{display:none}}
)css";
}

}  // namespace abba::report
