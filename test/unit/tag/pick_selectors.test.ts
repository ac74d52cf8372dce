import { expect, test } from 'vitest';
import { type Candidate, candidatesFor, type PickedElement, usualOf } from '#services/tag/src/pick_selectors.ts';

const one = (tag: string, attributes: Record<string, string> = {}, place = 1): PickedElement => ({
  tag,
  attributes,
  place,
});
const BODY = [one('body'), one('html')];

/** On a page where these selectors find so many, and all others none. */
const on =
  (counts: Record<string, number>) =>
  (selector: string): number =>
    counts[selector] ?? 0;
const shown = (candidates: readonly Candidate[]): string[] =>
  candidates.map(({ selector, count }) => `${count} ${selector}`);
/** What is offered where every selector finds one element, but for the kind and what is told. */
const offered = (element: PickedElement, others: Record<string, number> = {}): string => {
  const candidates = candidatesFor(
    [element, ...BODY],
    (selector) => others[selector] ?? (/[[#.>]/.test(selector) ? 1 : 9),
  );
  return candidates[usualOf(candidates)]?.selector ?? '';
};

test.each<[string, Record<string, string>, string]>([
  ['what the site named for us', { 'data-svc': 'buy', id: 'b', 'data-testid': 't' }, '[data-svc="buy"]'],
  ['a test id before an id', { id: 'buy', 'data-testid': 'buy' }, '[data-testid="buy"]'],
  ['an id before a name', { id: 'buy', name: 'n' }, '#buy'],
  ['a name where the id is generated', { id: 'radix-:r1:', name: 'buy' }, '[name="buy"]'],
  ['a label before a class', { 'aria-label': 'Buy now', class: 'buy' }, '[aria-label="Buy now"]'],
  ['a class before an address', { class: 'buy', href: '/x' }, 'a.buy'],
  ['the path of an address', { href: '/cart?session=1' }, '[href^="/cart"]'],
  ['no label with an e-mail address', { 'aria-label': 'Mail jane@shop.example', href: '/x' }, '[href="/x"]'],
  ['no id that is an account', { id: 'user-1234567890', class: 'profile' }, 'a.profile'],
])('%s', (_what, attributes, expected) => {
  expect(offered(one('a', attributes))).toBe(expected);
});

test.each([
  'css-1a2b3c',
  'sc-bdVaJa',
  'styles_button__x7Fq2',
  'svelte-1q2w3e',
  'mt-4',
  'px-6',
  'md:hover:bg-blue-500',
  'bg-blue-500',
  'text-sm',
  'w-full',
  'items-center',
  'flex',
  'rounded-lg',
  'btn-[#fff]',
  'd-none',
  'col-md-6',
  'is-active',
  'active',
])('the class %s is no name', (name) => {
  expect(offered(one('button', { class: `${name} buy` }))).toBe('button.buy');
});

test('of elements alike the tightest, the list and the whole page are offered, positions only where nothing else is alone', () => {
  const path = [one('button', { 'data-testid': 'add' }), one('li', {}, 3), one('ul', { id: 'sale' }), ...BODY];
  const counts = {
    '[data-testid="add"]': 12,
    '#sale': 1,
    '#sale [data-testid="add"]': 4,
    '#sale button': 4,
    button: 20,
    '#sale>li:nth-of-type(3)>button:nth-of-type(1)': 1,
  };
  const candidates = candidatesFor(path, on(counts));
  expect(shown(candidates)).toEqual([
    '1 #sale>li:nth-of-type(3)>button:nth-of-type(1)',
    '4 #sale [data-testid="add"]',
    '12 [data-testid="add"]',
    '20 button',
  ]);
  expect(candidates[usualOf(candidates)]?.selector).toBe('#sale [data-testid="add"]');
});

test('where a name finds it alone no position is offered', () => {
  const path = [one('button', { id: 'buy' }), ...BODY];
  const candidates = candidatesFor(
    path,
    on({ '#buy': 1, button: 3, 'html:nth-of-type(1)>body:nth-of-type(1)>#buy': 1 }),
  );
  expect(shown(candidates)).toEqual(['1 #buy', '3 button']);
});

test('what nothing names is offered by its place, and wider by its kind', () => {
  const place = 'html:nth-of-type(1)>body:nth-of-type(1)>p:nth-of-type(2)';
  const candidates = candidatesFor([one('p', {}, 2), ...BODY], on({ p: 7, [place]: 1 }));
  expect(shown(candidates)).toEqual([`1 ${place}`, '7 p']);
  expect(usualOf(candidates)).toBe(0);
});

test('the only one of its kind is offered by its kind', () => {
  expect(shown(candidatesFor([one('video'), ...BODY], on({ video: 1 })))).toEqual(['1 video']);
});

test('names that no selector takes as they are become any element; selectors that are too long are left out', () => {
  const path = [one('o:p', { class: 'x' }), ...BODY];
  expect(shown(candidatesFor(path, on({ '*.x': 1 })))).toEqual(['1 *.x']);
  const deep = [one('b'), ...Array.from({ length: 100 }, () => one('div')), ...BODY];
  expect(candidatesFor(deep, (selector) => (selector.includes('>') ? 1 : 0))).toEqual([]);
});

test('of nothing there is nothing to offer', () => {
  expect(candidatesFor([], () => 1)).toEqual([]);
  expect(usualOf([])).toBe(0);
});
