/** Digits with what people write between them, of however many numbers; none that are part of a percent escape. */
const RUN = /(?:\+(?=[0-9])|(?<![0-9+]|%[0-9A-Fa-f]?))[0-9]+(?:[\s().\-/+\u2010-\u2015]{1,5}[0-9]+)+/g;
const PART = /([^0-9]*)([0-9]+)/g;
const NUMBER_DIGITS_MIN = 8;
const TRUNK_NUMBER_DIGITS_MIN = 9;
const TRUNK = /^00?[1-9]/;
/** What stands rather between two numbers than in one: a slash, a dash with spaces, another plus or bracket. */
const BETWEEN_NUMBERS = /\/|\s[-\u2010-\u2015]+\s|\s\+|[^(]\(|^\($/;
const PLUS_END = /\+$/;
const PAIRS_OF_A_NUMBER = 5;
const SHAPE_GROUPS_MIN = 3;

interface Group {
  at: number;
  before: string;
  digits: string;
}

/**
 * What `redact` makes of a text, cut where one number ends and another begins: together they have more digits than a
 * number has, and each would hide the other.
 */
export function betweenNumbers(text: string, redact: (part: string) => string): string {
  let clean = '';
  let from = 0;
  for (const { 0: run, index } of text.matchAll(RUN)) {
    for (const joint of jointsOf(groupsOf(run))) {
      clean += redact(text.slice(from, index + joint));
      from = index + joint;
    }
  }
  return from === 0 ? redact(text) : clean + redact(text.slice(from));
}

function groupsOf(run: string): readonly Group[] {
  return Array.from(run.matchAll(PART), ({ index, 1: before = '', 2: digits = '' }) => ({ at: index, before, digits }));
}

function jointsOf(groups: readonly Group[]): readonly number[] {
  let left = count(groups);
  if (left < 2 * NUMBER_DIGITS_MIN) return [];
  const shape = shapeOf(groups);
  const joints: number[] = [];
  let first = 0;
  let digits = 0;
  let sincePlus = 0;
  groups.forEach((group, at) => {
    const isEnough = sincePlus >= NUMBER_DIGITS_MIN && left >= NUMBER_DIGITS_MIN;
    const isSplit = sincePlus >= NUMBER_DIGITS_MIN && BETWEEN_NUMBERS.test(group.before);
    const isNext = shape === null ? beginsTrunk(group, groups[first], digits) : at % shape === 0;
    if (isEnough && (isSplit || isNext)) {
      joints.push(group.at);
      first = at;
      digits = 0;
    }
    digits += group.digits.length;
    sincePlus =
      group.before === '' || isSplit || PLUS_END.test(group.before)
        ? group.digits.length
        : sincePlus + group.digits.length;
    left -= group.digits.length;
  });
  return joints;
}

function beginsTrunk(group: Group, first: Group | undefined, digits: number): boolean {
  const begins = TRUNK.test(first?.digits ?? '') || PLUS_END.test(first?.before ?? '');
  return digits >= TRUNK_NUMBER_DIGITS_MIN && TRUNK.test(group.digits) && begins;
}

/**
 * After how many groups another number begins where all are alike: `612 34 56 78 612 34 56 79`. Pairs are French
 * numbers where each fifth has the trunk prefix, else a draw's: 0, as no number begins there. Null: nothing says so.
 */
function shapeOf(groups: readonly Group[]): number | null {
  const lengths = groups.map(({ digits }) => digits.length);
  if (lengths.every((length) => length === 2)) {
    const isNumbers =
      groups.length % PAIRS_OF_A_NUMBER === 0 &&
      groups.every(({ digits }, at) => at % PAIRS_OF_A_NUMBER !== 0 || TRUNK.test(digits));
    return isNumbers ? PAIRS_OF_A_NUMBER : 0;
  }
  if (lengths.every((length) => length === lengths[0])) return null;
  for (let size = SHAPE_GROUPS_MIN; size <= PAIRS_OF_A_NUMBER && size * 2 <= groups.length; size += 1) {
    const isAlike = groups.length % size === 0 && lengths.every((length, at) => length === lengths[at % size]);
    if (isAlike && count(groups.slice(0, size)) >= NUMBER_DIGITS_MIN) return size;
  }
  return null;
}

function count(groups: readonly Group[]): number {
  return groups.reduce((sum, { digits }) => sum + digits.length, 0);
}
