#include "tests/device/attention_inputs.h"

#include <cmath>
#include <cstring>

namespace abba::device {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// Copies of rows: `count` bytes from each source offset, one after another.
class RowCopier {
 public:
  RowCopier(const Buffer& from, Buffer& to)
      : from_(static_cast<const std::byte*>(from.view().data())),
        to_(static_cast<std::byte*>(to.view().data())),
        element_bytes_(tensor::size_bytes_of(from.dtype())) {}
  void append(std::int64_t from_element, std::int64_t count) {
    const std::size_t bytes = at(count) * element_bytes_;
    std::memcpy(to_ + used_, from_ + at(from_element) * element_bytes_, bytes);
    used_ += bytes;
  }

 private:
  const std::byte* from_;
  std::byte* to_;
  std::size_t element_bytes_;
  std::size_t used_ = 0;
};

}  // namespace

Lengths ragged_lengths(std::int64_t batch, std::int64_t length) {
  Lengths lengths;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t real[] = {length, length - length / 7, (length + 2) / 3};
    lengths.push_back(static_cast<std::int32_t>(real[b % 3]));
  }
  return lengths;
}

Buffer by_row(const Buffer& by_head, std::int64_t batch, std::int64_t rows, std::int64_t heads) {
  Buffer out(by_head.dtype(), Shape{batch * rows, heads * ops::kHeadDim});
  RowCopier copier(by_head, out);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        copier.append(((b * heads + h) * rows + r) * ops::kHeadDim, ops::kHeadDim);
      }
    }
  }
  return out;
}

Buffer rows_of(const Buffer& buffer, std::int64_t first, std::int64_t count) {
  const std::int64_t columns = buffer.view().columns();
  Buffer out(buffer.dtype(), Shape{count, columns});
  RowCopier(buffer, out).append(first * columns, count * columns);
  return out;
}

Buffer queries_of(const Buffer& qkv, std::int64_t batch, const std::vector<std::int64_t>& rows) {
  const std::int64_t width = qkv.view().columns() / 3;
  const std::int64_t length = qkv.view().rows() / batch;
  Buffer q(qkv.dtype(), Shape{batch * static_cast<std::int64_t>(rows.size()), width});
  RowCopier copier(qkv, q);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (const std::int64_t row : rows) copier.append((b * length + row) * 3 * width, width);
  }
  return q;
}

Buffer keys_and_values_of(const Buffer& qkv) {
  const std::int64_t width = qkv.view().columns() / 3;
  Buffer kv(qkv.dtype(), Shape{qkv.view().rows(), 2 * width});
  RowCopier copier(qkv, kv);
  for (std::int64_t r = 0; r < qkv.view().rows(); ++r) {
    copier.append((3 * r + 1) * width, 2 * width);
  }
  return kv;
}

Values real_rows(Values values, const ops::AttentionProblem& problem, const Lengths& lengths) {
  const std::int64_t width = problem.heads * ops::kHeadDim;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / width;
    const bool is_padding = row % problem.length >= lengths[at(row / problem.length)];
    if (is_padding && std::isfinite(values[i])) values[i] = 0.0;
  }
  return values;
}

Values attention_by_mask(const ops::SubsetAttentionProblem& p, const Values& q, const Values& kv,
                         const std::vector<bool>& mask) {
  const std::int64_t width = p.heads * ops::kHeadDim;
  Values out(q.size(), 0.0);
  for (std::int64_t unit = 0; unit < p.batch * p.queries * p.heads; ++unit) {
    const std::int64_t row = unit / p.heads;
    const std::int64_t first = unit % p.heads * ops::kHeadDim;
    const std::int64_t b = row / p.queries;
    Values weights(at(p.keys), 0.0);
    double total = 0.0;
    for (std::int64_t j = 0; j < p.keys; ++j) {
      if (!mask[at(row * p.keys + j)]) continue;
      double dot = 0.0;
      for (std::int64_t c = first; c < first + ops::kHeadDim; ++c) {
        dot += q[at(row * width + c)] * kv[at((b * p.keys + j) * 2 * width + c)];
      }
      total += weights[at(j)] = std::exp(dot / 8.0);
    }
    for (std::int64_t j = 0; j < p.keys && total > 0.0; ++j) {
      if (!mask[at(row * p.keys + j)]) continue;
      for (std::int64_t c = first; c < first + ops::kHeadDim; ++c) {
        const double value = kv[at((b * p.keys + j) * 2 * width + width + c)];
        out[at(row * width + c)] += weights[at(j)] / total * value;
      }
    }
  }
  return out;
}

Buffer AttentionWay::attend(const ops::AttentionProblem& problem, const Buffer& qkv,
                            const Lengths& lengths) {
  Tensor input = on_device(qkv);
  Tensor counts = on_device(integers(lengths));
  Tensor out = output(act(), Shape{problem.batch * problem.length, problem.heads * ops::kHeadDim});
  backend_->plan_attention(problem);
  backend_->attention(problem, input.view(), counts.view(), out.view());
  if (problem.layout == ops::AttentionOutput::kRowMajor) return out.read();
  return by_row(out.read(), problem.batch, problem.length, problem.heads);
}

Buffer AttentionWay::attend(const ops::SubsetAttentionProblem& problem, const Buffer& q,
                            const Buffer& kv, const Lengths& lengths) {
  Tensor queries = on_device(q);
  Tensor keys = on_device(kv);
  Tensor counts = on_device(integers(lengths));
  Tensor out = output(act(), Shape{problem.batch * problem.queries, problem.heads * ops::kHeadDim});
  backend_->plan_attention(problem);
  backend_->attention(problem, queries.view(), keys.view(), counts.view(), out.view());
  if (problem.layout == ops::AttentionOutput::kRowMajor) return out.read();
  return by_row(out.read(), problem.batch, problem.queries, problem.heads);
}

double AttentionWay::error(const Buffer& computed, const ops::AttentionProblem& problem,
                           const Buffer& qkv, const Lengths& lengths, double more) const {
  const Values expected = ops::reference::attention(problem, values_of(qkv), lengths);
  return worst_error(real_rows(values_of(computed), problem, lengths), expected, relative(),
                     absolute() + more);
}

void AttentionWay::set(Buffer& buffer, std::int64_t row, std::int64_t column, float value) {
  const std::int64_t index = row * buffer.view().columns() + column;
  if (buffer.dtype() == DType::kF32) {
    buffer.as<float>()[index] = value;
  } else {
    buffer.as<base::Bf16>()[index] = base::to_bf16(value);
  }
}

}  // namespace abba::device
