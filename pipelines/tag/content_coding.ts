/** How a body may be coded (RFC 9110 section 8.4.1), the smallest first. */
const CODINGS = ['br', 'gzip', 'identity'] as const;
export type Coding = (typeof CODINGS)[number];

/** What a client that names some codings thinks of a plain body which it does not name: better than nothing. */
const UNNAMED_IDENTITY = 0.001;

/**
 * The coding that an Accept-Encoding header likes best, the smallest of equals (RFC 9110 section 12.5.3). Without the header,
 * and where nothing we have is acceptable, a plain body.
 */
export function chooseCoding(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined) return 'identity';
  const weights = weightsOf(acceptEncoding);
  let best: Coding = 'identity';
  let weight = 0;
  for (const coding of CODINGS) {
    const given = weightOf(weights, coding);
    if (given > weight) [best, weight] = [coding, given];
  }
  return best;
}

function weightOf(weights: ReadonlyMap<string, number>, coding: Coding): number {
  const named = weights.get(coding) ?? (coding === 'gzip' ? weights.get('x-gzip') : undefined);
  if (named !== undefined) return named;
  if (coding !== 'identity') return weights.get('*') ?? 0;
  return weights.get('*') === 0 ? 0 : UNNAMED_IDENTITY;
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const quality = parameters.find((text) => text.startsWith('q='))?.slice(2) ?? '1';
    // One that cannot be read is not wanted.
    weights.set(name, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0);
  }
  return weights;
}
