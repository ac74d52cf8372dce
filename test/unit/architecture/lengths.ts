import { linesOf, type Module } from './source.ts';

const FILE_LINES_MAX = 300;
const FUNCTION_LINES_MAX = 70;

/** Where lengths are counted. */
const COUNTED = /^(schemas|pipelines|infra|services)\//;

/** Lines of what is too long, by its path, and of a function its name. */
export type Lengths = Readonly<Record<string, number>>;

/**
 * What was too long when the rule came, as long as it is now. Numbers here only fall: what got shorter is written down as
 * that, and what is within the rule goes from the list.
 */
export const TOO_LONG: Lengths = {};

/** What is longer than it may be, and what of the list is not so long any more, in words. */
export function lengthViolationsOf(modules: readonly Module[], known: Lengths): string[] {
  const found = tooLong(modules);
  const places = new Set([...Object.keys(known), ...Object.keys(found)]);
  return [...places].flatMap((place) => {
    const [lines, listed] = [found[place], known[place]];
    if (lines === listed) return [];
    if (lines === undefined) return [`${place} is not too long any more: take it from the list`];
    if (listed === undefined) return [`${place} has ${lines} lines, which is too long`];
    return [
      lines > listed ? `${place} grew from ${listed} to ${lines} lines` : `${place} has ${lines} lines: list that`,
    ];
  });
}

function tooLong(modules: readonly Module[]): Record<string, number> {
  const lengths = modules.filter(({ path }) => COUNTED.test(path)).flatMap(lengthsOf);
  // Of several functions of one name the longest counts.
  return Object.fromEntries(lengths.toSorted(([, one], [, other]) => one - other));
}

function lengthsOf({ path, source, functions }: Module): [place: string, lines: number][] {
  const file: [string, number][] = [[path, linesOf(source)]];
  return [
    ...file.filter(([, lines]) => lines > FILE_LINES_MAX),
    ...functions
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ name, lines }): [string, number] => [`${path} ${name}`, lines]),
  ];
}
