// SQL of the page that an address is of, by the rules of its site.
import { pathPattern } from '#pipelines/settings/page_rules.ts';
import type { PageRules } from '#schemas/setting.ts';
import { type Binder, textOfJson } from '../sql/statement.ts';

// Which properties are the address of an event's page, of which the first counts that the event has.
const NAMES = ['$current_url', 'page_location', 'url'] as const;
const [USUAL, OTHER, LAST] = NAMES.map((name) => `property_texts['${name}']`);

/** SQL over event_rows: the JSON of the address of an event's page. */
export const PAGE_ADDRESS = `multiIf(${USUAL} != '', ${USUAL}, ${OTHER} != '', ${OTHER}, ${LAST})`;

/** Whether a property is the address of a page of the site itself. */
export const isPageAddress = ([name, ...inside]: readonly string[]): boolean =>
  inside.length === 0 && (NAMES as readonly (string | undefined)[]).includes(name);

/** Parts of paths that tell one thing from others: numbers, UUIDs, long hex; and tokens, where they have a digit too. */
const ID = '^(?:[0-9]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{16,})$';
const DIGIT = '[0-9]';
const TOKEN = '^[0-9A-Za-z]{20,}$';
const INDEX = '/(?i:index|default)[.](?i:html?|php|aspx?|jsp)$';
const WITHOUT_PATH = '^https?://[^/]*$';
/** A path that has more than the slashes at its end. */
const SLASHED = '^(?:[^/]*//[^/]*)?/.*[^/]/+$';
const ORIGIN = '^[^/]*//[^/]*';
/** A route in the fragment: not that of its root, which is the page itself. */
const ROUTE = '^[^#]*(#!?/[^?#]+)';
const ROUTE_WITHOUT_SLASH = '^[^#]*(#!?/[^?#]*[^?#/])';

/**
 * SQL of what is made of a text that stands in it more than once, as the argument of a lambda: ClickHouse analyses what a name of a
 * SELECT stands for as often as the name is written, and steps on each other would double with each.
 */
export const withText = (text: string, of: (name: string) => string, name = 'it'): string =>
  `arrayMap(${name} -> ${of(name)}, [${text}])[1]`;

/**
 * The page of an address: all before the first ? or #, changed by the rules in this order: the index's name and the slash at the end
 * are dropped, a route in the fragment is added, all is in small letters, the first pattern that fits takes its place or else its
 * parts that are ids are `:id`, and parameters that count are added.
 *
 * @param address SQL of a text.
 */
export function pageOf(address: string, rules: PageRules | null | undefined, binder: Binder): string {
  // cutQueryStringAndFragment leaves a fragment that has a ? in it.
  const base = `cutQueryString(cutFragment(${address}))`;
  if (rules === null || rules === undefined) return base;
  const { hash_routes, shorten_ids, drop_trailing_slash, parameters } = rules;
  const patterns = rules.rules.map((rule) => pathPattern(rule, rules));
  const bound = (text: string): string => binder.bind(text, 'String');
  const all = (texts: readonly string[]): string => binder.bind(texts, 'Array(String)');
  const matches = (text: string, pattern: string): string => `match(${text}, ${bound(pattern)})`;
  const steps: [isWanted: boolean, step: (text: string) => string][] = [
    [rules.drop_index_names, withoutIndex],
    [drop_trailing_slash, withoutSlash],
    [hash_routes, withRoute],
    [rules.lower_case, (text) => `lowerUTF8(${text})`],
    [shorten_ids || patterns.length > 0, byPatterns],
    [parameters.length > 0, withParameters],
  ];
  return steps.reduce((text, [isWanted, step]) => (isWanted ? step(text) : text), base);

  function withoutIndex(text: string): string {
    return withText(text, (it) => `if(${matches(it, INDEX)}, replaceRegexpOne(${it}, '[^/]*$', ''), ${it})`);
  }

  function withoutSlash(text: string): string {
    const root = (it: string): string => `${matches(it, WITHOUT_PATH)}, concat(${it}, '/')`;
    const end = (it: string): string => `endsWith(${it}, '/') AND ${matches(it, SLASHED)}, trimRight(${it}, '/')`;
    return withText(text, (it) => `multiIf(${end(it)}, ${root(it)}, ${it})`);
  }

  function withRoute(text: string): string {
    return `concat(${text}, extract(${address}, ${bound(drop_trailing_slash ? ROUTE_WITHOUT_SLASH : ROUTE)}))`;
  }

  function byPatterns(text: string): string {
    const isId = `${matches('s', ID)} OR ${matches('s', TOKEN)} AND ${matches('s', DIGIT)}`;
    const shortened = (it: string): string =>
      `if(${matches(it, DIGIT)}, arrayStringConcat(arrayMap(s -> if(${isId}, ':id', s), splitByChar('/', ${it})), '/'), ${it})`;
    const others = (it: string): string => (shorten_ids ? shortened(it) : it);
    if (patterns.length === 0) return withText(text, others);
    const expressions = patterns.map(({ expression }) => `^(?:[^/]*//[^/]*)?${expression}$`);
    // All that fit are found in one pass, of which the first counts.
    const first = (it: string): string => `arrayMin(multiMatchAllIndices(${it}, ${all(expressions)}))`;
    const ruled = (at: string, it: string): string =>
      `concat(extract(${it}, ${bound(ORIGIN)}), arrayElement(${all(patterns.map(({ page }) => page))}, ${at}))`;
    return withText(text, (it) => withText(first(it), (at) => `if(${at} = 0, ${others(it)}, ${ruled(at, it)})`, 'at'));
  }

  /** Those of the query, and of a route that is part of the page. */
  function withParameters(text: string): string {
    const names = parameters.map((name) => name.replace(/[.[\]]/g, '\\$&')).join('|');
    const query = (it: string): string => `cutFragment(${it})`;
    const withRoutes = (it: string): string => `if(${matches(it, '^[^#]*#!?/')}, ${it}, ${query(it)})`;
    const of = hash_routes ? withText(address, withRoutes) : query(address);
    const counted = `arraySort(arrayFilter(s -> ${matches('s', `^(?:${names})=.`)}, extractURLParameters(${of})))`;
    return `concat(${text}, ${withText(counted, (it) => `if(empty(${it}), '', concat('?', arrayStringConcat(${it}, '&')))`)})`;
  }
}

/** SQL over event_rows: the page of an event. */
export const pageOfEvent = (rules: PageRules | null | undefined, binder: Binder): string =>
  pageOf(binder.name(textOfJson(binder.name(PAGE_ADDRESS))), rules, binder);
