import { given } from '#pipelines/intake/compat/foreign.ts';
import { pageArrival } from '#pipelines/intake/page_arrival.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { holdsGroupedCard, redactCards } from '#pipelines/privacy/redact_cards.ts';
import type { SentPage, SentVisitor } from './engage_request.ts';

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
  page?: SentPage;
  visitor?: SentVisitor;
  timestamp?: string;
}

/** What a request may say of the campaign beside the address of its page. */
export const CAMPAIGN = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const;

/**
 * An event of a survey, promo or form. Like every other it is cleaned by the edge before it is written; what is said of its
 * circumstances is searched for numbers of payment cards here, as what was written into it is where that is read.
 */
export function engageEvent(
  event: string,
  uuid: string,
  properties: JsonObject,
  { page, visitor, timestamp }: Circumstances,
): EngageEvent {
  const distinctId = visitorId(visitor);
  return {
    event,
    uuid,
    ...(distinctId === undefined ? {} : { distinct_id: distinctId }),
    ...(timestamp === undefined ? {} : { timestamp }),
    properties: {
      ...withoutCards({ ...pageProperties(page, visitor), ...visitorProperties(visitor) }),
      ...consentProperties(visitor),
      ...properties,
    },
  };
}

/** Whose event it is: an id with a payment card's number in groups is none, and its visitor is anonymous. */
export function visitorId(visitor: SentVisitor | undefined): string | undefined {
  const sent = visitor?.distinct_id;
  return sent === undefined || holdsGroupedCard(sent) ? undefined : sent;
}

function withoutCards(texts: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, redactCards(String(text))]));
}

/** Both purposes wherever one is said: what is not said was not agreed to. */
function consentProperties({ consent }: SentVisitor = {}): JsonObject {
  return consent === undefined
    ? {}
    : { $consent: { analytics: consent.analytics === true, ads: consent.ads === true } };
}

function visitorProperties({ session_id, locale }: SentVisitor = {}): Record<string, string> {
  return {
    ...(session_id === undefined ? {} : { $session_id: session_id }),
    ...(locale === undefined ? {} : { language: locale }),
  };
}

function pageProperties(page: SentPage | undefined, visitor: SentVisitor | undefined): JsonObject {
  if (page === undefined) return {};
  const { url, title, referrer, campaign } = page;
  return {
    ...given({ $current_url: url, $title: title, $referrer: referrer, ...campaign }),
    ...pageArrival(url, visitor?.consent === undefined || visitor.consent.ads === true),
  };
}
