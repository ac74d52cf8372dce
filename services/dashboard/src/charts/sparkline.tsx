import type { VNode } from 'preact';

const WIDTH = 120;
const HEIGHT = 32;

/** How a number went, without axes; the number itself stands beside it. */
export function Sparkline({ values }: { values: readonly number[] }): VNode {
  const max = Math.max(...values, 1);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 2 - (value / max) * (HEIGHT - 4)).toFixed(1)}`,
  );
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {values.length > 1 && (
        <>
          <polygon points={`0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`} />
          <polyline points={points.join(' ')} />
        </>
      )}
    </svg>
  );
}
