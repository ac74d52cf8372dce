import { createIsbotFromList, isbot, list } from 'isbot';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import { HTTP_LIBRARIES, NAMED_CRAWLERS } from './user_agents.ts';

/**
 * Who shows a user agent: a browser that called us, a server that called us, or a shopper whom a server reports. A
 * server may call itself what it likes, so of it only crawlers known by name are robots.
 */
export type Bearer = 'browser' | 'server' | 'shopper';

const VERDICTS_CACHED_MAX = 2048;
/** In the patterns of isbot: what is no literal text. */
const NOT_LITERAL = /\\.|\[[^\]]*\]|\(\?<?[=!][^)]*\)/g;

const JUDGES: Record<Bearer, (userAgent: string) => boolean> = {
  browser: isbot,
  server: createIsbotFromList([...NAMED_CRAWLERS]),
  shopper: createIsbotFromList([...NAMED_CRAWLERS, ...list.filter(namesRobots)]),
};
/** Verdicts by user agent; one that holds personal text is judged anew each time instead of being held in memory. */
const verdicts: Record<Bearer, Map<string, boolean>> = { browser: new Map(), server: new Map(), shopper: new Map() };

/** Whether the user agent is a robot's. A browser always has one; a server may have none. */
export function isBot(bearer: Bearer, userAgent: string | null): boolean {
  if (userAgent === null || userAgent.trim() === '') return bearer === 'browser';
  return verdicts[bearer].get(userAgent) ?? judge(bearer, userAgent);
}

function judge(bearer: Bearer, userAgent: string): boolean {
  const verdict = JUDGES[bearer](userAgent);
  if (redactText(userAgent) !== userAgent) return verdict;
  const known = verdicts[bearer];
  if (known.size >= VERDICTS_CACHED_MAX) known.clear();
  known.set(userAgent, verdict);
  return verdict;
}

/**
 * Whether a pattern of isbot tells a robot by a word. Those that go by the mere shape of a user agent catch shop apps,
 * and those that catch HTTP libraries catch apps built on them.
 */
function namesRobots(pattern: string): boolean {
  if (!/[a-z]{3}/.test(pattern.replace(NOT_LITERAL, ' ')) || pattern.startsWith('^mozilla')) return false;
  return !HTTP_LIBRARIES.some((library) => new RegExp(pattern, 'i').test(library));
}
