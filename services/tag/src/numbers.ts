/**
 * The first number in a text, as shops write prices: `€ 1.234,50`, `1,234.50 USD`, `1 234,50`, `1'234.50`. One separator
 * with three digits behind it groups thousands, unless only a zero stands before it. Undefined where there is none.
 */
export function numberIn(text: string): number | undefined {
  const found = /\d(\d|[.,'’](?=\d)|\s(?=\d{3}(?!\d)))*/.exec(text);
  if (!found) return undefined;
  const sign = /(^|\W)[-−]\W{0,2}$/.test(text.slice(0, found.index)) ? -1 : 1;
  const digits = found[0].replace(/[\s'’]/g, '');
  const marks = digits.replace(/\d/g, '');
  const parts = digits.split(/[.,]/);
  const last = parts.pop() ?? '';
  const whole = parts.join('');
  const isFraction = marks.length === 1 ? last.length !== 3 || /^0+$/.test(whole) : marks[0] !== marks.at(-1);
  return sign * Number(isFraction ? `${whole}.${last}` : whole + last);
}
