/*
 * All the tag's limits and waits. In a module of their own the bundler puts each where it is used, which the core, that has to
 * fit into 6,144 bytes, needs.
 */

const DAY_S = 86_400;

/** How long an answer of the edge, and one of the browser's store, is waited for. */
export const ANSWER_MS_MAX = 30_000;
export const STORE_ANSWER_MS_MAX = 2000;
/** How long a browser that has an id waits for the configuration. */
export const CONFIG_MS_MAX = 2000;
export const INVENTORY_AFTER_MS = 2000;
/** By then an application has rendered the page whose address it shows, its title too. */
export const RENDERED_MS = 100;

/** What is tracked within this goes in one request. */
export const TOGETHER_MS = 250;
/** What is younger in the store is most likely on its way from the page that it happened on. */
export const OTHERS_OLDER_MS = 5000;
export const EVENTS_MAX = 50;
/**
 * Of the 64 KiB that a browser lets a page have in flight when it is left: with batches of this size each request
 * survives that. It is far below the 256 KiB that the edge takes.
 */
export const BATCH_BYTES_MAX = 48 * 1024;
export const LEAVING_BYTES_MAX = 60 * 1024;
/** Of the 256 KiB that the edge takes of a whole body: an event beyond that would only push out what waits. */
export const EVENT_BYTES_MAX = 260_000;
/** What waits for the edge, and what waits for the configuration. */
export const WAITING_MAX = 1000;
export const WAITING_CHARACTERS_MAX = 1024 * 1024;
export const PENDING_MAX = 1000;
/** How many objects of a property are told that JSON cannot take as it is. */
export const OBJECTS_MAX = 1000;
/** Doubled by each failure: 1 s after the first. */
export const BACKOFF_MS = 500;
export const BACKOFF_MS_MAX = 5 * 60_000;
export const RETRY_AFTER_S_MAX = DAY_S;

/*
 * What cookies are kept for. V8 keeps numbers that were made texts in a table by their last seven bits, and makes it 64 kB once
 * two of them meet: whole days would, so some have a second or two more.
 */
/** 13 months; browsers cap at 400 days. */
export const VISITOR_S = 395 * DAY_S;
export const SESSION_S = DAY_S + 1;
export const IDLE_MS = 30 * 60_000;
export const SESSION_MS_MAX = DAY_S * 1000;
/** How often the session's cookie is written at most. */
export const SESSION_WRITTEN_MS = 10_000;
export const VALUE_CHARACTERS_MAX = 500;
/** For how long a click on an ad holds. */
export const CLICK_S = 90 * DAY_S + 2;
export const CLICK_MS = 90 * DAY_S * 1000;
/** Of a UUID. */
export const ID_CHARACTERS = 36;

/** The cookie that holds the visitor's id. */
export const VISITOR_COOKIE = 'svc_did';
/** What a visitor refused who is measured unless they do. */
export const REFUSED_COOKIE = 'svc_no';
