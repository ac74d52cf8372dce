/** Longest text of a formula. */
export const FORMULA_TEXT_MAX = 200;
/** Deepest nesting of parentheses and signs. */
const DEPTH_MAX = 30;

/** A formula over series: the first is A, the second B and so on. */
export type Formula =
  | { kind: 'number'; number: number }
  | { kind: 'series'; index: number }
  | { kind: 'negated'; of: Formula }
  | { kind: 'joined'; sign: '+' | '-' | '*' | '/'; left: Formula; right: Formula };

/** What a text says as a formula, or why it is none. */
export type FormulaRead = { ok: true; formula: Formula } | { ok: false; message: string };

/** A word of a formula, and where it begins, counted from 1. */
interface Token {
  text: string;
  at: number;
}

/** Where reading stands; it changes while a formula is read. */
interface Reading {
  tokens: readonly Token[];
  next: number;
  depth: number;
  seriesCount: number;
}

class FormulaError extends Error {
  readonly code = 'formula_malformed';
}

/**
 * Reads `A / B`, `(A - B) * 100`: numbers, series as letters, `+ - * /` and parentheses, with the usual precedence.
 *
 * @param seriesCount How many series there are to name
 */
export function readFormula(text: string, seriesCount: number): FormulaRead {
  try {
    const reading = { tokens: tokensOf(text), next: 0, depth: 0, seriesCount };
    const formula = readSum(reading);
    const left = reading.tokens[reading.next];
    if (left !== undefined) throw unexpected(left);
    return { ok: true, formula };
  } catch (error) {
    if (error instanceof FormulaError) return { ok: false, message: error.message };
    throw error;
  }
}

/**
 * What a formula comes to; null where a series has no value, or any part of it is no finite number, as after a division by
 * zero.
 */
export function valueOfFormula(formula: Formula, values: readonly (number | null)[]): number | null {
  switch (formula.kind) {
    case 'number':
      return formula.number;
    case 'series':
      return values[formula.index] ?? null;
    case 'negated': {
      const of = valueOfFormula(formula.of, values);
      return of === null ? null : 0 - of;
    }
    case 'joined': {
      const [left, right] = [valueOfFormula(formula.left, values), valueOfFormula(formula.right, values)];
      if (left === null || right === null) return null;
      const value = OPERATIONS[formula.sign](left, right);
      return Number.isFinite(value) ? value : null;
    }
  }
}

const OPERATIONS: Record<'+' | '-' | '*' | '/', (left: number, right: number) => number> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};

const TOKEN = /\s*(?:(\d+(?:\.\d+)?|[A-Za-z]+|[-+*/()])|(\S))/y;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    const [all, word, odd] = found;
    const at = found.index + all.length - (word ?? odd ?? '').length + 1;
    if (word === undefined) throw new FormulaError(`has a character at ${at} that no formula has`);
    tokens.push({ text: word, at });
  }
  return tokens;
}

function unexpected(token: Token | undefined): FormulaError {
  return new FormulaError(
    token === undefined ? 'ends too early' : `has something at ${token.at} that does not belong there`,
  );
}

function readSum(reading: Reading): Formula {
  let left = readProduct(reading);
  for (let sign = readSign(reading, '+', '-'); sign !== null; sign = readSign(reading, '+', '-')) {
    left = { kind: 'joined', sign, left, right: readProduct(reading) };
  }
  return left;
}

function readProduct(reading: Reading): Formula {
  let left = readFactor(reading);
  for (let sign = readSign(reading, '*', '/'); sign !== null; sign = readSign(reading, '*', '/')) {
    left = { kind: 'joined', sign, left, right: readFactor(reading) };
  }
  return left;
}

function readSign<Sign extends string>(reading: Reading, ...signs: Sign[]): Sign | null {
  const found = signs.find((sign) => sign === reading.tokens[reading.next]?.text);
  if (found === undefined) return null;
  reading.next++;
  return found;
}

function readFactor(reading: Reading): Formula {
  const token = reading.tokens[reading.next++];
  if (token === undefined) throw unexpected(token);
  if (token.text === '-') return { kind: 'negated', of: deeper(reading, readFactor) };
  if (token.text === '(') {
    const inner = deeper(reading, readSum);
    const close = reading.tokens[reading.next++];
    if (close?.text !== ')') throw unexpected(close);
    return inner;
  }
  if (/^\d/.test(token.text)) return { kind: 'number', number: Number(token.text) };
  if (/^[A-Za-z]/.test(token.text)) return { kind: 'series', index: seriesIndex(token, reading.seriesCount) };
  throw unexpected(token);
}

function deeper(reading: Reading, read: (reading: Reading) => Formula): Formula {
  if (++reading.depth > DEPTH_MAX) throw new FormulaError(`is nested more than ${DEPTH_MAX} deep`);
  const formula = read(reading);
  reading.depth--;
  return formula;
}

function seriesIndex({ text, at }: Token, seriesCount: number): number {
  const index = text.length === 1 ? text.charCodeAt(0) - 'A'.charCodeAt(0) : -1;
  if (index >= 0 && index < seriesCount) return index;
  throw new FormulaError(`names at ${at} a series that is not there: they are A to ${seriesLetter(seriesCount - 1)}`);
}

/** The letter by which formulas name a series. */
function seriesLetter(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}
