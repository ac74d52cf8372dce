import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import type { SentVisitor } from './engage_request.ts';

/** An event as the acceptor takes it. */
export interface EngageEvent {
  event: string;
  uuid: string;
  distinct_id?: string;
  timestamp?: string;
  properties: JsonObject;
}

/** What came with a request beside what was done. */
export interface Circumstances {
  page?: { url: string; title?: string; referrer?: string };
  visitor?: SentVisitor;
  timestamp?: string;
}

const CAMPAIGN = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const;

/** An event of a survey, promo or form. Like every other it is cleaned by the edge before it is written. */
export function engageEvent(
  event: string,
  uuid: string,
  properties: JsonObject,
  { page, visitor, timestamp }: Circumstances,
): EngageEvent {
  return {
    event,
    uuid,
    ...(visitor?.distinct_id === undefined ? {} : { distinct_id: visitor.distinct_id }),
    ...(timestamp === undefined ? {} : { timestamp }),
    properties: {
      ...pageProperties(page),
      ...(visitor?.session_id === undefined ? {} : { session_id: visitor.session_id }),
      ...(visitor?.consent === undefined ? {} : { consent: visitor.consent }),
      ...(visitor?.locale === undefined ? {} : { language: visitor.locale }),
      ...properties,
    },
  };
}

function pageProperties(page: Circumstances['page']): JsonObject {
  if (page === undefined) return {};
  const query = URL.parse(page.url)?.searchParams;
  const campaign = CAMPAIGN.flatMap((name) => {
    const value = query?.get(name) ?? null;
    return value === null || value === '' ? [] : [[name, value.slice(0, 200)] as const];
  });
  return {
    url: page.url,
    ...(page.title === undefined ? {} : { title: page.title }),
    ...(page.referrer === undefined || page.referrer === '' ? {} : { referrer: page.referrer }),
    ...Object.fromEntries(campaign),
  };
}
