// Amounts as people write them: decimal comma or point, thousands in groups, a currency beside them.

/** The sign before the decimals; `auto` takes it from the number itself, where that says it. */
export type Decimal = 'auto' | ',' | '.';

export type NumberProblem = 'number_ambiguous' | 'number_unreadable';

export type ReadNumber = { ok: true; value: number; currency: string | null } | { ok: false; problem: NumberProblem };

/** What stands between groups of thousands, beside comma and point. */
const GROUP_SIGNS = /[ '\u00a0\u202f\u2009\u2019]/;
const CURRENCIES: Readonly<Record<string, string>> = { '€': 'EUR', '£': 'GBP', '¥': 'JPY' };
const CURRENCY = /^(?:([A-Za-z]{3})|([€£¥$]))\s*(?=[\d(.,+-])|(?<=[\d).,-])\s*(?:([A-Za-z]{3})|([€£¥$]))$/;
const DIGITS_MAX = 15;

/**
 * Reads an amount. `1.234` and `1,234` may each be a thousand or one: an error, unless `decimal` says which. Negative ones are
 * written `-5`, `5-` or `(5)`.
 *
 * @returns `currency` is what stands beside the number, null for none; `$` is that of several countries and says nothing.
 */
export function readNumber(text: string, decimal: Decimal): ReadNumber {
  const trimmed = text.trim();
  const beside = CURRENCY.exec(trimmed);
  const code = beside?.[1] ?? beside?.[3];
  const currency = code?.toUpperCase() ?? CURRENCIES[beside?.[2] ?? beside?.[4] ?? ''] ?? null;
  const signed = beside === null ? trimmed : trimmed.replace(CURRENCY, '');
  const [, minus, inner, behind] = /^([-\u2212+]?)\s*(.*?)\s*(-?)$/s.exec(signed) ?? [];
  const parenthesised = /^\((.*)\)$/.exec(inner ?? '');
  const body = parenthesised?.[1] ?? inner ?? '';
  const signs = [minus === '-' || minus === '\u2212', behind === '-', parenthesised !== null].filter(Boolean).length;
  const read = readPlain(body, decimal);
  if (typeof read === 'string') return { ok: false, problem: read };
  if (signs > 1) return { ok: false, problem: 'number_unreadable' };
  return { ok: true, value: signs === 1 && read !== 0 ? -read : read, currency };
}

function readPlain(body: string, decimal: Decimal): number | NumberProblem {
  if (body.replace(/\D/g, '').length > DIGITS_MAX) return 'number_unreadable';
  const sign = decimal === 'auto' ? decimalOf(body) : decimal;
  if (sign === 'number_ambiguous') return sign;
  const at = sign === null ? -1 : body.lastIndexOf(sign);
  const whole = at < 0 ? body : body.slice(0, at);
  const decimals = at < 0 ? '' : body.slice(at + 1);
  const isSound = /^\d*$/.test(decimals) && (sign === null || !whole.includes(sign)) && isGrouped(whole);
  if (!isSound || `${whole}${decimals}` === '') return 'number_unreadable';
  return Number(`${whole.replace(/\D/g, '') || '0'}.${decimals || '0'}`);
}

/** The decimal sign of a number; null: it has none. */
function decimalOf(body: string): ',' | '.' | null | 'number_ambiguous' {
  const [commas, points] = [body.split(',').length - 1, body.split('.').length - 1];
  if (commas > 0 && points > 0) return body.lastIndexOf(',') > body.lastIndexOf('.') ? ',' : '.';
  const count = commas + points;
  if (count !== 1) return null;
  const sign = commas === 1 ? ',' : '.';
  const [before = '', after = ''] = body.split(sign);
  const mayBeGroups = after.length === 3 && /^[1-9]\d{0,2}$/.test(before);
  return mayBeGroups ? 'number_ambiguous' : sign;
}

function isGrouped(whole: string): boolean {
  if (/^\d*$/.test(whole)) return true;
  const [, sign = ''] = /^\d{1,3}(\D)/.exec(whole) ?? [];
  if (sign !== ',' && sign !== '.' && !GROUP_SIGNS.test(sign)) return false;
  const [first = '', ...groups] = whole.split(sign);
  return /^\d{1,3}$/.test(first) && groups.every((group) => /^\d{3}$/.test(group));
}
