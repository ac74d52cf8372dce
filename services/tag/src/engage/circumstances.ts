import { covered } from '../bare.ts';
import { readCookie, writeCookie } from '../cookies.ts';
import { VISITOR_S } from '../limits.ts';
import type { EngageHost } from '../types.ts';
import { uuid7 } from '../uuid7.ts';
import { sessionOf } from '../visit_session.ts';
import { countryOf, deviceOf, localeOf } from './visitor_facts.ts';

const VISITOR = 'svc_did';
const ADDRESS_CHARACTERS_MAX = 4096;
const TITLE_CHARACTERS_MAX = 1000;

/** The page without what tells one visitor from another: of its query no more than the campaign, as bare.ts has it. */
function anonymousPage(): { url: string; referrer: string } {
  const campaign = covered(location.search.replace(/[?&](?!utm_)[^&]*/g, '')).replace(/^&/, '?');
  return {
    url: location.origin + covered(location.pathname) + campaign,
    referrer: document.referrer && new URL(document.referrer).origin,
  };
}

/**
 * The visitor's id, where the tag may keep one: its own (visitor_ids.ts), or one that it takes over, where nothing was
 * measured yet. Undefined also where cookies are refused.
 */
export function visitorOf({ analytics }: EngageHost): string | undefined {
  if (!analytics()) return undefined;
  if (!readCookie(VISITOR)) writeCookie(VISITOR, uuid7(Date.now()), VISITOR_S);
  return readCookie(VISITOR);
}

/** Whether the visitor refuses to be measured: then nothing is shown, kept or sent. A site in offline mode keeps nothing ever. */
export const isRefused = ({ config, analytics }: EngageHost): boolean => config.mode !== 'offline' && !analytics();

/** Who looks at which page, as every route of surveys, promos and forms takes it. */
export function circumstancesOf(host: EngageHost): { page: object; visitor: object } {
  const isOffline = host.config.mode === 'offline';
  const page = isOffline ? anonymousPage() : { url: location.href, referrer: document.referrer };
  const { width, height } = screen;
  const session = readCookie('svc_sid');
  return {
    page: {
      url: page.url.slice(0, ADDRESS_CHARACTERS_MAX),
      referrer: page.referrer.slice(0, ADDRESS_CHARACTERS_MAX),
      title: document.title.slice(0, TITLE_CHARACTERS_MAX),
    },
    visitor: {
      ...(!isOffline && {
        distinct_id: visitorOf(host),
        session_id: session && sessionOf(session),
        consent: { analytics: host.analytics(), ads: host.ads() },
      }),
      locale: localeOf(document.documentElement.lang, navigator.language),
      country: countryOf(navigator.language),
      device: deviceOf(matchMedia('(pointer:coarse)').matches, Math.min(width, height)),
    },
  };
}
