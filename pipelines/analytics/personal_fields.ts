// Fields that single people out, and fields whose values few people may have.
import * as words from '#pipelines/privacy/key_words.ts';
import { comparableForm, SECRET_ENDINGS, SECRET_WORDS } from '#pipelines/privacy/key_words.ts';
import { hasSmallCounts } from '#pipelines/visits/arrival.ts';
import type { Column, Field } from './filters.ts';

/** Columns whose values stand for one person, for one event, or for few people. */
const PERSONAL: ReadonlySet<unknown> = new Set([
  'event_id',
  'distinct_id',
  'person_id',
  'email_sha256',
  'phone_hmac',
  'external_id_sha256',
  'zip',
  'client_ip',
  'client_user_agent',
  'order_id',
]);

/** Columns whose values are of many whatever a sender does. */
const OF_MANY: ReadonlySet<Column> = new Set([
  'event',
  'mode',
  'action_source',
  'caller',
  'key_id',
  'identify',
  'country',
  'currency',
  'ad_storage',
  'analytics_storage',
  'ad_user_data',
  'ad_personalization',
  'consent_defaults',
  'limited_data_use',
  'historical',
  'geo_country',
  'browser',
  'os',
  'device_type',
  'screen_class',
]);

/**
 * Whether some values of a field may be of few persons, as an address of a page with somebody's id in it is: those are told
 * to whoever may see persons.
 */
export function hasSmallCountValues(field: Field): boolean {
  if ('visit' in field) return hasSmallCounts(field.visit);
  if ('cohort' in field) return false;
  if ('person' in field) return hasSmallCountValues(field.person);
  return 'property' in field ? field.part === undefined || field.part === 'page' : !OF_MANY.has(field.column);
}

/** The same of properties, under all the names that senders give them. */
const PERSONAL_WORDS: Set<string> = new Set(
  [
    ...[words.EMAIL_WORDS, words.PHONE_WORDS, words.FIRST_NAME_WORDS, words.LAST_NAME_WORDS, words.EXTERNAL_ID_WORDS],
    ...[words.ZIP_WORDS, words.IP_WORDS, words.USER_AGENT_WORDS, words.VISITOR_ID_WORDS, words.ORDER_ID_WORDS],
    ...[words.OTHER_NAME_WORDS, words.BIRTH_WORDS, words.STREET_WORDS, words.TRACEABLE_WORDS],
    ...SECRET_WORDS.map(([, list]) => list),
    // What people write, and what calls one of them or of their doings by its name.
    'comment comments note notes message messages feedback review remark remarks memo subject description search q query search_term',
    'search_query search_keyword search_string keyword_searched name title page_title display_name handle user users',
    'event_id invoice receipt booking reservation ticket confirmation reference order_ref order purchase_id sale_id lead_ref pedido',
    'numero_pedido bestellnummer bestellnr commande transaction hashed_id sha256 external diagnosis health_condition bic',
  ].flatMap((list) => list.split(' ').map(comparableForm)),
);
// What sort of device it was, as most senders mean it; which one is `device_id`.
PERSONAL_WORDS.delete('device');
/** `invoice_number`, `cart_token`, `$insert_id`, `employee-no`. */
const ONE_AMONG_MANY =
  /(?:invoice|receipt|booking|reservation|ticket|cart|checkout|basket|patient|employee|student|order|payment|transaction|purchase|insert|message|request|quote|policy|claim|case|contract|tracking|confirmation|shipment|account|customer|registration|vat|tax)(?:ids?|uuid|number|num|no|nr|ref|reference|token|code|key)$/;
/** Web addresses, whose parameters may say anything: of their pages and hosts anybody may ask. */
const ADDRESS = /(?:url|uri|href|referrer|referer|pagelocation|documentlocation|landingpage|formdestination)$/;
/** In these what is called a name is an article's. */
const ARTICLES: ReadonlySet<string> = new Set(['items', 'products', 'contents', 'lineitems', 'product', 'item']);
const ARTICLE_NAMES: ReadonlySet<string> = new Set(['name', 'title', 'description']);
/** Objects that describe a person. Named whole, such a one is the text of all that it holds. */
const PERSON_WORDS: ReadonlySet<string> = new Set(words.FEEDING_CONTAINER_WORDS.split(' '));

/**
 * Whether a question names such a column or property anywhere: it could single a person out, as what it filters or breaks
 * down by.
 */
export function namesPersons(question: unknown): boolean {
  if (typeof question !== 'object' || question === null) return false;
  if ('column' in question && PERSONAL.has(question.column)) return true;
  const path = pathOf(question);
  if (isPersonalPath(path) || isWholeAddress(path, question)) return true;
  // Whether there is an address at all says nothing about anybody.
  const isPresence = 'is' in question && (question.is === 'set' || question.is === 'not_set');
  return Object.entries(question).some(([key, value]: [string, unknown]) =>
    namesPersons(isPresence && key === 'field' && isObject(value) ? { part: 'page', ...value } : value),
  );
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function isWholeAddress(path: readonly string[], { part }: { part?: unknown }): boolean {
  return part === undefined && ADDRESS.test(comparableForm(path.at(-1) ?? ''));
}

/** The path of a field into the properties, and on into the elements that lie there; empty where it is none. */
function pathOf(field: { property?: unknown; each?: unknown }): string[] {
  return [field.property, field.each].flat().filter((part) => typeof part === 'string');
}

function isPersonalPath(path: readonly string[]): boolean {
  const whole = comparableForm(path.at(-1) ?? '');
  if (PERSON_WORDS.has(whole)) return true;
  return path.some((name, at) => isPersonalName(name) && !isArticleName(name, path[at - 1]));
}

const isArticleName = (name: string, within: string | undefined): boolean =>
  within !== undefined && ARTICLE_NAMES.has(comparableForm(name)) && ARTICLES.has(comparableForm(within));

function isPersonalName(name: string): boolean {
  if (words.COOKIE_KEY.test(name)) return true;
  const word = comparableForm(name).replace(words.FORM_PREFIX, '').replace(words.FORM_SUFFIX, '');
  return [word, word.replace(words.PLURAL, '')].some(
    (one) =>
      PERSONAL_WORDS.has(one) ||
      words.VISITOR_ENDING.test(one) ||
      words.CUSTOMER_ENDING.test(one) ||
      ONE_AMONG_MANY.test(one) ||
      SECRET_ENDINGS.some(([, ending]) => ending.test(one)),
  );
}
