#include "engine/ops/reference/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/base/error.h"
#include "engine/base/half.h"

namespace abba::ops::reference {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// One query against keys first..last (exclusive) of one head; `keys` and `values` are the first
// element of key 0, `stride` elements lie between two keys. Adds nothing if no key is visible.
void attend_one(const double* query, const double* keys, const double* values, std::int64_t stride,
                std::int64_t first, std::int64_t last, double* out) {
  std::fill(out, out + kHeadDim, 0.0);
  if (first >= last) return;
  std::vector<double> scores(at(last - first));
  for (std::int64_t j = first; j < last; ++j) {
    double dot = 0.0;
    for (std::int64_t c = 0; c < kHeadDim; ++c) dot += query[c] * keys[j * stride + c];
    scores[at(j - first)] = dot / 8.0;  // sqrt(64)
  }
  const double top = *std::max_element(scores.begin(), scores.end());
  double total = 0.0;
  for (double& score : scores) total += score = std::exp(score - top);
  for (std::int64_t j = first; j < last; ++j) {
    const double share = scores[at(j - first)] / total;
    for (std::int64_t c = 0; c < kHeadDim; ++c) out[c] += share * values[j * stride + c];
  }
}

}  // namespace

double round_bf16(double value) {
  return base::round_to_bf16(static_cast<float>(value));
}

Values round_bf16(Values values) {
  for (double& value : values) value = round_bf16(value);
  return values;
}

double gelu(double x) {
  return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
}

Values layer_norm(const NormProblem& p, const Values& x, const Values& gain, const Values& bias) {
  ABBA_CHECK(x.size() == at(p.rows * p.hidden) && gain.size() == at(p.hidden));
  ABBA_CHECK(bias.empty() || bias.size() == gain.size());
  Values y(x.size());
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const double* row = &x[at(r * p.hidden)];
    double mean = 0.0;
    for (std::int64_t c = 0; c < p.hidden; ++c) mean += row[c];
    mean /= static_cast<double>(p.hidden);
    double variance = 0.0;
    for (std::int64_t c = 0; c < p.hidden; ++c) variance += (row[c] - mean) * (row[c] - mean);
    variance /= static_cast<double>(p.hidden);
    const double deviation = std::sqrt(variance + static_cast<double>(p.epsilon));
    for (std::int64_t c = 0; c < p.hidden; ++c) {
      const double shift = bias.empty() ? 0.0 : bias[at(c)];
      y[at(r * p.hidden + c)] = gain[at(c)] * (row[c] - mean) / deviation + shift;
    }
  }
  return y;
}

Values embed_norm(const EmbedNormProblem& p, std::span<const float> table, const Values& gain,
                  std::span<const std::int32_t> ids) {
  ABBA_CHECK(table.size() == at(p.vocabulary * p.hidden) && ids.size() == at(p.rows));
  Values rows(at(p.rows * p.hidden));
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::int64_t id = ids[at(r)];
    ABBA_CHECK(id >= 0 && id < p.vocabulary);
    for (std::int64_t c = 0; c < p.hidden; ++c) {
      rows[at(r * p.hidden + c)] = table[at(id * p.hidden + c)];
    }
  }
  return layer_norm({p.rows, p.hidden, p.epsilon}, rows, gain, {});
}

double rope_angle(float theta, std::int64_t position, std::int64_t pair) {
  const double power = std::pow(static_cast<double>(theta), 2.0 * static_cast<double>(pair) / 64.0);
  const float frequency = 1.0F / static_cast<float>(power);
  return static_cast<float>(position) * frequency;
}

void rope(const RopeProblem& p, float theta, bool round_table, Values& qkv) {
  const std::int64_t width = p.heads * kHeadDim;
  ABBA_CHECK(qkv.size() == at(p.batch * p.length * 3 * width));
  const std::int64_t half = kHeadDim / 2;
  for (std::int64_t token = 0; token < p.batch * p.length; ++token) {
    for (std::int64_t pair = 0; pair < half; ++pair) {
      const double angle = rope_angle(theta, token % p.length, pair);
      const double cosine = round_table ? round_bf16(std::cos(angle)) : std::cos(angle);
      const double sine = round_table ? round_bf16(std::sin(angle)) : std::sin(angle);
      for (std::int64_t head = 0; head < 2 * p.heads; ++head) {  // q's heads, then k's
        double* x = &qkv[at(token * 3 * width + head * kHeadDim)];
        const double low = x[pair];
        const double high = x[pair + half];
        x[pair] = low * cosine - high * sine;
        x[pair + half] = high * cosine + low * sine;
      }
    }
  }
}

Values attention(const AttentionProblem& p, const Values& qkv,
                 std::span<const std::int32_t> lengths) {
  const std::int64_t width = p.heads * kHeadDim;
  ABBA_CHECK(qkv.size() == at(p.batch * p.length * 3 * width) && lengths.size() == at(p.batch));
  Values out(at(p.batch * p.length * width), 0.0);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    const double* row = &qkv[at(b * p.length * 3 * width)];
    for (std::int64_t i = 0; i < lengths[at(b)]; ++i) {
      const bool full = p.half_window < 0;
      const std::int64_t first = full ? 0 : std::max<std::int64_t>(0, i - p.half_window);
      const std::int64_t end = lengths[at(b)];
      const std::int64_t last = full ? end : std::min(end, i + p.half_window + 1);
      for (std::int64_t h = 0; h < p.heads; ++h) {
        const double* head = row + h * kHeadDim;
        attend_one(head + i * 3 * width, head + width, head + 2 * width, 3 * width, first, last,
                   &out[at((b * p.length + i) * width + h * kHeadDim)]);
      }
    }
  }
  return out;
}

Values attention(const SubsetAttentionProblem& p, const Values& q, const Values& kv,
                 std::span<const std::int32_t> lengths) {
  const std::int64_t width = p.heads * kHeadDim;
  ABBA_CHECK(q.size() == at(p.batch * p.queries * width) && lengths.size() == at(p.batch));
  ABBA_CHECK(kv.size() == at(p.batch * p.keys * 2 * width));
  Values out(at(p.batch * p.queries * width));
  for (std::int64_t b = 0; b < p.batch; ++b) {
    const double* keys = &kv[at(b * p.keys * 2 * width)];
    for (std::int64_t i = 0; i < p.queries; ++i) {
      for (std::int64_t h = 0; h < p.heads; ++h) {
        const std::int64_t place = (b * p.queries + i) * width + h * kHeadDim;
        attend_one(&q[at(place)], keys + h * kHeadDim, keys + width + h * kHeadDim, 2 * width, 0,
                   lengths[at(b)], &out[at(place)]);
      }
    }
  }
  return out;
}

Values transpose_heads(const TransposeHeadsProblem& p, const Values& by_head) {
  Values by_row(by_head.size());
  std::int64_t from = 0;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      for (std::int64_t r = 0; r < p.rows; ++r) {
        for (std::int64_t c = 0; c < kHeadDim; ++c) {
          by_row[at(((b * p.rows + r) * p.heads + h) * kHeadDim + c)] = by_head[at(from++)];
        }
      }
    }
  }
  return by_row;
}

// The products of one weight row with all rows of x at a time: each sum still runs over k in order,
// but the inner loop is long and independent, which makes the English model bearable here.
Values matmul(const MatmulProblem& p, const Values& x, std::span<const float> weight,
              const Values& bias) {
  const std::int64_t outputs = p.epilogue == Epilogue::kGeglu ? 2 * p.columns : p.columns;
  ABBA_CHECK(x.size() == at(p.rows * p.depth) && weight.size() == at(outputs * p.depth));
  ABBA_CHECK(p.has_bias ? bias.size() == at(p.columns) : bias.empty());
  Values transposed(x.size());
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t k = 0; k < p.depth; ++k) {
      transposed[at(k * p.rows + r)] = x[at(r * p.depth + k)];
    }
  }
  Values y(at(p.rows * outputs));
  Values sums(at(p.rows));
  for (std::int64_t n = 0; n < outputs; ++n) {
    std::fill(sums.begin(), sums.end(), bias.empty() ? 0.0 : bias[at(n)]);
    for (std::int64_t k = 0; k < p.depth; ++k) {
      const double w = weight[at(n * p.depth + k)];
      const double* column = &transposed[at(k * p.rows)];
      for (std::int64_t r = 0; r < p.rows; ++r) sums[at(r)] += w * column[r];
    }
    for (std::int64_t r = 0; r < p.rows; ++r) y[at(r * outputs + n)] = sums[at(r)];
  }
  if (p.epilogue == Epilogue::kGeglu) return geglu({p.rows, p.columns}, y);
  for (double& value : y) {
    if (p.epilogue == Epilogue::kRelu) value = std::max(value, 0.0);
    if (p.epilogue == Epilogue::kGelu) value = gelu(value);
  }
  return y;
}

void add_bias(const BiasProblem& p, const Values& bias, Values& y) {
  ABBA_CHECK(y.size() == at(p.rows * p.columns) && bias.size() == at(p.columns));
  for (std::int64_t i = 0; i < p.rows * p.columns; ++i) {
    y[at(i)] += bias[at(i % p.columns)];
    if (p.relu) y[at(i)] = std::max(y[at(i)], 0.0);
  }
}

Values geglu(const GegluProblem& p, const Values& u) {
  ABBA_CHECK(u.size() == at(2 * p.rows * p.columns));
  Values g(at(p.rows * p.columns));
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const double* activated = &u[at(2 * r * p.columns)];
    const double* gate = activated + p.columns;
    for (std::int64_t c = 0; c < p.columns; ++c) {
      g[at(r * p.columns + c)] = gelu(activated[c]) * gate[c];
    }
  }
  return g;
}

Values type_embedding(const TypeEmbeddingProblem& p, const Values& h, const Values& table,
                      std::span<const std::int32_t> types) {
  ABBA_CHECK(h.size() == at(p.batch * p.length * p.hidden) && types.size() == at(p.batch));
  Values x = h;
  for (std::int64_t token = 0; token < p.batch * p.length; ++token) {
    const std::int64_t type = types[at(token / p.length)];
    for (std::int64_t c = 0; c < p.hidden; ++c) {
      x[at(token * p.hidden + c)] += table[at(type * p.hidden + c)];
    }
  }
  return x;
}

Values gather_rows(const GatherProblem& p, const Values& x, std::span<const std::int32_t> indices) {
  ABBA_CHECK(indices.size() == at(p.picked) && x.size() == at(p.source_rows * p.hidden));
  Values y;
  y.reserve(at(p.picked * p.hidden));
  for (const std::int32_t index : indices) {
    ABBA_CHECK(index >= 0 && index < p.source_rows);
    const auto first = x.begin() + index * p.hidden;
    y.insert(y.end(), first, first + p.hidden);
  }
  return y;
}

ActionInput action_features(const ActionFeaturesProblem& p, const Values& raw_logits,
                            std::span<const std::int32_t> counts, const Values& first) {
  ActionInput result{Values(at(p.batch * p.options), kMaskedLogit), {}};
  for (std::int64_t b = 0; b < p.batch; ++b) {
    const std::int64_t count = counts[at(b)];
    ABBA_CHECK(count >= 1 && count <= p.options);
    const double* row = &raw_logits[at(b * p.options)];
    std::copy(row, row + count, &result.logits[at(b * p.options)]);
    const double top = *std::max_element(row, row + count);
    Values shares(row, row + count);
    double total = 0.0;
    for (double& share : shares) total += share = std::exp(share - top);
    double entropy = 0.0;
    for (double& share : shares) {
      share /= total;
      entropy -= share * std::log(std::max(share, 1e-9));
    }
    std::sort(shares.begin(), shares.end(), std::greater<>());
    const double k = static_cast<double>(std::max<std::int64_t>(count, 2));
    const double second = count > 1 ? shares[1] : 0.0;
    const auto vector = first.begin() + b * p.hidden;
    result.features.insert(result.features.end(), vector, vector + p.hidden);
    for (const double feature : {shares[0], shares[0] - second, entropy / std::log(k), k / 255.0}) {
      result.features.push_back(feature);
    }
  }
  return result;
}

}  // namespace abba::ops::reference
