/** How forms write values that are no texts, and read what was typed as such. */

/** A number where it is one; else what was typed, which the definition's check finds. @param empty What nothing stands for. */
export function readNumber(typed: string, empty: unknown = ''): unknown {
  const text = typed.trim();
  if (text === '') return empty;
  const value = Number(text);
  return Number.isFinite(value) ? value : typed;
}

/** Seconds as they are typed, in milliseconds. @param empty What nothing stands for. */
export function readSeconds(typed: string, empty: unknown = ''): unknown {
  const value = readNumber(typed, empty);
  return typeof value === 'number' ? Math.round(value * 1000) : value;
}

/** Milliseconds as seconds, or what was typed in their place. */
export const writtenSeconds = (value: unknown): string =>
  typeof value === 'number' ? String(value / 1000) : typeof value === 'string' ? value : '';

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** A moment as a field for date and time has it, in the zone of whoever looks; empty: none. */
export function writtenMoment(ms: unknown): string {
  if (typeof ms !== 'number') return '';
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return '';
  const day = [String(at.getFullYear()).padStart(4, '0'), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join(
    '-',
  );
  const seconds = at.getSeconds() === 0 ? '' : `:${twoDigits(at.getSeconds())}`;
  return `${day}T${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}${seconds}`;
}

/** The moment that a field for date and time says; null: none. */
export function readMoment(typed: string): number | null {
  const ms = typed === '' ? Number.NaN : new Date(typed).getTime();
  return Number.isNaN(ms) ? null : ms;
}

export interface Option {
  value: string | number;
  label: string;
}

/** What may be ticked, and what is and could not be unticked otherwise: a rule may name a choice that was removed. */
export function withChosen(options: readonly Option[], chosen: readonly unknown[]): Option[] {
  const others = new Set(chosen.filter((value) => typeof value === 'string' || typeof value === 'number'));
  for (const { value } of options) others.delete(value);
  return [...options, ...[...others].map((value) => ({ value, label: String(value) }))];
}
