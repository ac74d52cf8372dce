// Selectors for an element that somebody chose, from one that finds it alone to those that find others like it.

import { attributeSelector, isChosenClass } from './page_inventory.ts';

/** What of an element selectors are made of. */
export interface PickedElement {
  /** Its name in lower case. */
  tag: string;
  attributes: Readonly<Record<string, string>>;
  /** Among its siblings of the same name, from 1. */
  place: number;
}

export interface Candidate {
  selector: string;
  /** How many elements of the page it finds. */
  count: number;
  kind: 'name' | 'kind' | 'place';
}

/** Attributes that name an element, those that outlive a rebuild longest first. */
const NAMING = [
  'data-svc',
  'data-testid',
  'data-test-id',
  'data-test',
  'data-cy',
  'data-qa',
  'id',
  'name',
  'aria-label',
];
/** Less so: a text that is translated, an address that moves. */
const NAMING_LAST = ['placeholder', 'href'];
const CLASSES_MAX = 3;
/** As many characters as a definition takes. */
const SELECTOR_CHARACTERS_MAX = 1000;
const CANDIDATES_MAX = 8;

const VALUE =
  '(\\d+|px|auto|full|screen|min|max|fit|none|xs|sm|base|md|lg|xl|start|end|center|between|around|evenly|stretch|left|right|top|bottom|middle|(no)?wrap|hidden|visible|scroll|row|col(umn)?|inline|block|flex|pointer|default|white|black|transparent|current|inherit|light|normal|medium|(semi)?bold|tight|snug|relaxed|loose|wide|cover|contain|all|colors|spin|pulse|solid|dashed|primary|secondary|success|danger|warning|info|muted|dark)';
/** Words of utility classes, as of Tailwind and Bootstrap: how something looks, which changes with every design. */
const UTILITY = new RegExp(
  `^-?([mp][trblxyse]?|[wh]|size|gap|space|inset|top|right|bottom|left|start|end|z|order|basis|grow|shrink|flex|grid|col|row|span|justify|items|content|self|place|object|overflow|text|font|fw|fs|leading|tracking|whitespace|break|bg|border|divide|outline|ring|rounded|shadow|opacity|transition|duration|ease|delay|animate|scale|rotate|cursor|select|fill|stroke|d|g|sr|float|align|list|clamp|line|position)(-[a-z]{1,5})?-${VALUE}$`,
);
const UTILITY_ALONE =
  /^(flex|grid|block|inline(-\w+)?|hidden|table|contents|static|fixed|absolute|relative|sticky|(in)?visible|underline|uppercase|lowercase|capitalize|truncate|italic|antialiased|container(-fluid)?|group|peer|clearfix|row|col|rounded|border|shadow|transition|sr-only|grow|shrink|ring|outline|fade|small|lead)$/;
/** What an element is for a moment. */
const STATE =
  /^((is|has)-.*|active|selected|open(ed)?|closed?|hover(ed)?|focus(ed)?|disabled|enabled|show(n)?|collapsed?|expanded|loading|loaded|visited|current|checked|first|last|odd|even)$/;

const isStableClass = (name: string): boolean =>
  isChosenClass(name) && !UTILITY.test(name) && !UTILITY_ALONE.test(name) && !STATE.test(name);

/** Names that need no escaping; others, as Word's `o:p`, are any element. */
const tagOf = ({ tag }: PickedElement): string => (/^[a-z][\w-]*$/.test(tag) ? tag : '*');

/** Selectors by what an element is called, the most lasting first. */
function namesOf(element: PickedElement): string[] {
  const by = (names: readonly string[]): string[] =>
    names.map((name) => attributeSelector(name, element.attributes[name] ?? '')).filter(Boolean);
  const classes = (element.attributes['class'] ?? '').split(/\s+/).filter(isStableClass).slice(0, CLASSES_MAX);
  const classed = classes.map((name) => `${tagOf(element)}.${name}`);
  if (classes[1]) classed.push(`${tagOf(element)}.${classes.join('.')}`);
  return [...by(NAMING), ...classed, ...by(NAMING_LAST)];
}

function kindOf(element: PickedElement): string {
  const told = ['role', 'type'].filter((name) => /^[\w-]+$/.test(element.attributes[name] ?? ''));
  return tagOf(element) + told.map((name) => `[${name}="${element.attributes[name]}"]`).join('');
}

const stepOf = (element: PickedElement): string => `${tagOf(element)}:nth-of-type(${element.place})`;

/**
 * What finds an element, from the fewest other elements to the most; of selectors that find as many the one that outlives a
 * rebuild of the page longest. Positions are among them only where nothing else finds the element alone.
 *
 * @param path the element, and those around it up to the top of its document or shadow root.
 * @param countOf how many elements a selector finds; 0 where the one of the path that it is of is not among them.
 */
export function candidatesFor(
  path: readonly PickedElement[],
  countOf: (selector: string, of: PickedElement) => number,
): Candidate[] {
  const [element, ...around] = path;
  if (!element) return [];
  // The nearest that a name finds alone, else the nearest that has a name.
  let scope = '';
  const at = around.findIndex((of) => {
    const named = namesOf(of);
    const only = named.find((name) => countOf(name, of) === 1);
    scope = only ?? (scope || (named[0] ?? ''));
    return only;
  });
  const names = namesOf(element);
  const kind = kindOf(element);
  const within = scope ? [...names, kind].map((name) => `${scope} ${name}`) : [];
  const steps = path.slice(0, at < 0 ? path.length : at + 1).map(stepOf);
  const way = [...(at < 0 ? [] : [scope]), ...steps.reverse()].join('>');
  const all = [
    ...names.map((selector) => ({ selector, kind: 'name' as const })),
    ...within.map((selector) => ({ selector, kind: 'name' as const })),
    { selector: kind, kind: 'kind' as const },
    { selector: way, kind: 'place' as const },
  ];
  const found: Candidate[] = [];
  for (const one of all) {
    if (one.selector.length > SELECTOR_CHARACTERS_MAX) continue;
    const count = countOf(one.selector, element);
    if (count > 0 && !found.some((other) => other.count === count)) found.push({ ...one, count });
  }
  return found.sort((one, other) => one.count - other.count).slice(0, CANDIDATES_MAX);
}

/** Which candidate is offered first: the tightest by a name, or by the kind where that is the only one; else the first. */
export function usualOf(candidates: readonly Candidate[]): number {
  const at = candidates.findIndex(({ kind, count }) => kind === 'name' || (kind === 'kind' && count === 1));
  return Math.max(at, 0);
}
