// What counts as one page of a site: which rules it may have, and how their patterns are read.
import { PAGE_DEFAULTS, type PageRules, type Site } from '#schemas/setting.ts';

export const PAGE_RULES_MAX = 20;
export const PAGE_RULE_CHARACTERS_MAX = 200;
export const PAGE_PARAMETERS_MAX = 10;
/** Names of parameters, as they stand in an address. */
export const PAGE_PARAMETER_PATTERN = '^[A-Za-z0-9_.~%\\[\\]-]{1,50}$';
/** A pattern of a path: what an address may have, without a query. */
export const PAGE_RULE_PATTERN = '^/[!->@-~]*$';

/** The rules of a site; null where pages are what was sent. */
export function pageRulesOf({ pages }: Pick<Site, 'pages'>): PageRules | null {
  if (pages === undefined) return null;
  const { parameters, rules, ...switches } = pages;
  const isSet = parameters.length > 0 || rules.length > 0 || Object.values(switches).some(Boolean);
  return isSet ? { ...PAGE_DEFAULTS, ...pages } : null;
}

/** A part of a path that stands for any: `:id`. */
const PLACEHOLDER = /^:[A-Za-z_][A-Za-z0-9_]*$/;

/** A rule as paths are compared with it: a regular expression of RE2 for what is behind the host, and what they become. */
export interface PathPattern {
  expression: string;
  page: string;
}

/**
 * A rule's pattern: `:name` is one part of the path, `*` any text within a part, and as the last part all that follows. Paths that
 * it is compared with are in small letters and without a slash at the end where the rules say so, and so is what it says itself.
 */
export function pathPattern(rule: string, { lower_case, drop_trailing_slash }: PageRules): PathPattern {
  const whole = drop_trailing_slash ? rule.replace(/(?<=[^/])\/+(?=#|$)/g, '') : rule;
  const parts = whole.split('/').map((part) => (lower_case && !PLACEHOLDER.test(part) ? part.toLowerCase() : part));
  const last = parts.length - 1;
  return { expression: parts.map((part, at) => expressionOf(part, at === last)).join('/'), page: parts.join('/') };
}

function expressionOf(part: string, isLast: boolean): string {
  if (part === '*') return isLast ? '.+' : '[^/]+';
  if (PLACEHOLDER.test(part)) return '[^/]+';
  return part
    .split('*')
    .map((text) => text.replace(/[\\^$.+?()[\]{}|]/g, '\\$&'))
    .join('[^/]*');
}
