import { isSame } from '../format.ts';

/** What a form is about, by names of its own: the fields that it shows. */
export type Facts = Readonly<Record<string, unknown>>;

export interface Difference {
  name: string;
  was: unknown;
  theirs: unknown;
  /** What it would be if one's own changes were saved over theirs. */
  kept: unknown;
}

const TEXT_MAX = 400;

/** One's own changes over what is there now: fields that one left as they were are as the other has made them. */
export function changesOver<Draft extends object>(loaded: Draft, mine: Draft, theirs: Draft): Draft {
  const changed = Object.entries(mine).filter(([name, value]) => !isSame(value, loaded[name as keyof Draft]));
  const left = Object.entries(theirs).filter(([name]) => name in mine || !(name in loaded));
  return Object.fromEntries([...left, ...changed]) as Draft;
}

/** What somebody else has changed since it was loaded. @param kept null: it would be gone. */
export function differences(loaded: Facts, theirs: Facts, kept: Facts | null): Difference[] {
  const names = [...new Set([...Object.keys(loaded), ...Object.keys(theirs)])];
  return names
    .filter((name) => !isSame(loaded[name], theirs[name]))
    .map((name) => ({ name, was: loaded[name], theirs: theirs[name], kept: kept?.[name] }));
}

export function factText(value: unknown): string {
  const text = plainText(value);
  if (text === '') return 'nothing';
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}

function plainText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join('\n');
  return JSON.stringify(value, null, 1);
}
