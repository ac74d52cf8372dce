import { hash } from 'node:crypto';
import { percentDecoded } from './normalise_text.ts';

/**
 * What programs send in place of an id that they do not have: many people share it, and by it strangers would be one
 * person. Those that PostHog never merges by (posthog.com/docs/product-analytics/identify, "When are merges
 * blocked?"; PostHog/posthog pull requests 12010 and 17325).
 */
const POSTHOGS =
  'anonymous,guest,distinctid,distinct_id,id,not_authenticated,email,undefined,true,false,[object Object],NaN,None,null,0';
/**
 * The nothing of further languages and databases (nil, Django's AnonymousUser), GA4's `(not set)`, what people write for
 * nobody, and names of fields that nobody filled in.
 */
const OTHERS =
  'nil,void,empty,blank,unset,not set,missing,unknown,n/a,not available,not applicable,infinity,-1,' +
  'anon,AnonymousUser,anonymous user,guest user,no user,unidentified,unauthenticated,not logged in,logged out,' +
  'uid,user_id,customer_id,client_id,anonymous_id,visitor_id,external_id,' +
  '00000000-0000-0000-0000-000000000000';
/** posthog-js sends it for everybody in its cookieless mode, and leaves it to the server to tell visitors apart. */
const COOKIELESS = '$posthog_cookieless';

/** A SHA-256 in hex: no word is longer. */
const CHARACTERS_MAX = 64;
const HASH_CHARACTERS: readonly number[] = [32, CHARACTERS_MAX];
const AROUND = /^[\s"'`\\()[\]{}<>]+|[\s"'`\\()[\]{}<>]+$/g;
const SEPARATORS = /[\s_.-]+/g;
const WITH_DIGIT = /[1-9]/;
/** Zeros and signs: `0`, `-`, `--`, `00000000-0000-0000-0000-000000000000`. */
const NOTHING = /^[0\s!-/:-@[-`{-~]*$/;
const OBJECT = /^\[object [^\]]*\]$/i;
/** A place of a page or a mail that was to be filled in: `{{ user.id }}`, `${userId}`, `<%= id %>`, `%%ID%%`, `*|ID|*`. */
const TEMPLATE = /^(?:\{[{%].*[}%]\}|\$\{.*\}|<%.*%>|%%.*%%|\*\|.*\|\*)$/;

const SPELLINGS = `${POSTHOGS},${OTHERS}`.split(',');
const WORDS: ReadonlySet<string> = new Set(SPELLINGS.map(wordOf));
/** Senders that hash what they have hash these as well, and an empty text most of all. */
const HASHES: ReadonlySet<string> = new Set(
  ['', ...SPELLINGS]
    .flatMap((one) => [one, one.toLowerCase(), one.toUpperCase(), one.charAt(0).toUpperCase() + one.slice(1)])
    .flatMap((one) => [hash('sha256', one), hash('md5', one)]),
);

/** Whether an id is a placeholder, in whatever case, quoted, percent-encoded or hashed: a fault of who sends it. */
export function isPlaceholderId(sent: string): boolean {
  const text = sent.trim();
  if (text.length > CHARACTERS_MAX) return false;
  const isEncoded = text.includes('%');
  // Most ids have a digit, and cost no more than this look.
  if (!isEncoded && WITH_DIGIT.test(text)) return text.replace(AROUND, '') === '-1' || isPlaceholderHash(text);
  const plain = isEncoded ? percentDecoded(text).trim() : text;
  return NOTHING.test(plain) || OBJECT.test(plain) || TEMPLATE.test(plain) || WORDS.has(wordOf(plain));
}

/** Whether a hash is one of a placeholder, or of nothing. */
export function isPlaceholderHash(text: string): boolean {
  const trimmed = text.trim();
  return HASH_CHARACTERS.includes(trimmed.length) && HASHES.has(trimmed.toLowerCase());
}

/** What programs write in place of a text that they do not have, as they write it: people are called Null, Nan and Nil. */
const UNSTATED: ReadonlySet<string> = new Set(
  'null,NULL,undefined,UNDEFINED,NaN,None,none,nil,n/a,N/A,(not set),not set,(none),unknown,Unknown,UNKNOWN'.split(','),
);

/** Whether what stands for a name, a place or a user agent says that there is none. */
export function isMissingId(sent: string): boolean {
  const text = sent.trim();
  if (text.length > CHARACTERS_MAX) return false;
  return (
    UNSTATED.has(text) || NOTHING.test(text) || OBJECT.test(text) || TEMPLATE.test(text) || isPlaceholderHash(text)
  );
}

/** Whether a number is one of those beyond 2^53 that were rounded when JSON was read, each to the same as its neighbours. */
export const isRounded = (value: unknown): boolean => Number.isInteger(value) && !Number.isSafeInteger(value);

/** The text of a number that was sent as an id; of a rounded one a placeholder. */
export const numberId = (value: number): string => (isRounded(value) ? 'NaN' : String(value));

/** Whether an id says of nobody who they are: a placeholder, or PostHog's word for a visitor without an id. */
export function isNobodysId(text: string): boolean {
  return isCookielessId(text) || isPlaceholderId(text);
}

/** Whether an id is PostHog's word for a visitor without one, which is no fault. */
export function isCookielessId(text: string): boolean {
  return text.trim() === COOKIELESS;
}

function wordOf(text: string): string {
  return text.toLowerCase().replace(AROUND, '').replace(SEPARATORS, '');
}
