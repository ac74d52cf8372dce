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
  'uid,user_id,customer_id,client_id,anonymous_id,visitor_id,external_id,order_id,transaction_id,event_id,message_id,uuid,' +
  '00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff';
/** posthog-js sends it for everybody in its cookieless mode, and leaves it to the server to tell visitors apart. */
const COOKIELESS = '$posthog_cookieless';

/** A SHA-256 in hex: no word is longer. */
const CHARACTERS_MAX = 64;
/** No id is longer. */
const ID_CHARACTERS_MAX = 200;
const HASH_CHARACTERS: readonly number[] = [32, CHARACTERS_MAX];
const UUID_DIGITS = 32;
const ZERO = 0x30;
/** A field of fixed length in C ends in NUL. */
export const CONTROL_CHARACTERS = /\p{Cc}+/gu;
const AROUND = /^[\s"'`\\()[\]{}<>]+|[\s"'`\\()[\]{}<>]+$/g;
const SEPARATORS = /[\s_.-]+/g;
const WITH_DIGIT = /[1-9]/;
/** Zeros and signs: `0`, `-`, `--`, `00000000-0000-0000-0000-000000000000`. */
const NOTHING = /^[0\s!-/:-@[-`{-~]*$/;
const OBJECT = /^\[object [^\]]*\]$/i;
/** One digit over and over, in the length of a UUID or a hash: `11111111-1111-1111-1111-111111111111`. */
const ONE_DIGIT = /^(.)(?:-?\1)+$/i;
/**
 * A place of a page, a mail or an advertisement that was to be filled in: `{{ user.id }}`, `${userId}`, `<%= id %>`, `%%ID%%`,
 * `%USER_ID%`, `*|ID|*`, `{order_id}`, `__CLICKID__`.
 */
const TEMPLATE =
  '\\{\\{[^}]*\\}\\}|\\{%[^%]*%\\}|\\$\\{[^}]*\\}|<%[^%]*%>|%%[^%]*%%|%[A-Za-z_][\\w .-]{2,}%|\\*\\|[^|]*\\|\\*|' +
  '\\{[A-Za-z]+(?:[_.][A-Za-z]+)*\\}|__[A-Z]+(?:_[A-Z]+)*__';
const WHOLE_TEMPLATE = new RegExp(`^(?:${TEMPLATE})$`);
/**
 * Where a program, a table or a page put something together of what it did not have: `user_undefined`, `null.null`,
 * `order-{{order.id}}`, `#N/A`, `purchase-[object Object]`, `CLIENT_ID(scope)` of AMP, a function's own text. People are
 * called Null, Nan and None: these only as programs write them.
 */
const UNFILLED = new RegExp(
  `${TEMPLATE}|(?<![A-Za-z0-9])(?:[Uu]ndefined|UNDEFINED|null|NULL|NaN|(?<! )None(?! ))(?![A-Za-z0-9])|` +
    '\\[object [^\\]]*\\]|<nil>|#(?:N/A|REF!|NAME\\?|VALUE!|DIV/0!|NULL!|NUM!)|' +
    '\\b[A-Z]+_[A-Z_]+\\([^)]*\\)|\\bfunction\\b[^(]*\\(|\\[native code\\]|\\(\\) ?=>',
);
/** What tells ids apart behind it: a time, a UUID, a random text. */
const UNIQUE = /[A-Za-z0-9]{10,}/g;
/** What an id is of, and then none: `purchase-` of PHP's null, `order-nan` of pandas. */
const NAMED_NOTHING =
  /^(?:purchase|order|event|transaction|txn|invoice|refund|checkout|sale|lead|user|customer|client|visitor|member|anon)[-_:#/.= ]+(?:nan|nil|none|unknown)?$/i;
/** A number as a spreadsheet shows it, its last digits gone: `4.91512E+11`. */
const SCIENTIFIC = /^-?\d(?:[.,]\d+)?E\+\d{1,3}$/i;
/** How a table's export writes nothing, and the pattern by which pages make UUIDs, as it stands. */
const AS_WRITTEN = /^(?:\\N|x{3,12}|x{8}-x{4}-[4x]x{3}-[xy]x{3}-x{12})$/i;

const SPELLINGS = `${POSTHOGS},${OTHERS}`.split(',');
const WORDS: ReadonlySet<string> = new Set(SPELLINGS.map(wordOf));

/** Senders that hash what they have hash these as well, and an empty text most of all. */
const HASHES: ReadonlySet<string> = new Set(
  ['', 'na', ...SPELLINGS]
    .flatMap((one) => [one, one.toLowerCase(), one.toUpperCase(), one.charAt(0).toUpperCase() + one.slice(1)])
    .flatMap((one) => [one, `+${one}`])
    .concat(['-', '--', '.'])
    .flatMap((one) => [hash('sha256', one), hash('md5', one)]),
);

/**
 * Whether an id is a placeholder, in whatever case, quoted, with control characters, percent-encoded, hashed or part of it: a fault of
 * who sends it.
 */
export function isPlaceholderId(sent: string): boolean {
  const text = sent.trim();
  if (text.length > ID_CHARACTERS_MAX) return false;
  // Most ids are UUIDs or numbers, and cost no more than this look.
  if (isOfHexDigits(text)) return isNothing(text);
  const printed = text.replace(CONTROL_CHARACTERS, '');
  if (printed !== text) return isPlaceholderId(printed);
  const isEncoded = text.includes('%');
  const plain = isEncoded ? percentDecoded(text).trim() : text;
  if (plain.includes('@')) return isPlaceholderAddress(plain.toLowerCase());
  if (plain.startsWith('+') && isDummyNumber(plain.replace(/\D/g, ''))) return true;
  return (
    (isEncoded || !WITH_DIGIT.test(plain) ? isWord(plain) : isNothing(plain.replace(AROUND, ''))) || isUnfilled(plain)
  );
}

function isWord(text: string): boolean {
  return text.length <= CHARACTERS_MAX && (NOTHING.test(text) || OBJECT.test(text) || WORDS.has(wordOf(text)));
}

/** What is told by digits, signs and the letters a to f: zeros, -1, hashes of placeholders, UUIDs that nobody drew. */
function isNothing(text: string): boolean {
  if (text === '-1' || isPlaceholderHash(text)) return true;
  if (!(text.charCodeAt(0) > ZERO)) return NOTHING.test(text);
  return text.length >= UUID_DIGITS && text.charAt(0) === text.charAt(1) && ONE_DIGIT.test(text);
}

function isUnfilled(text: string): boolean {
  const unfilled = UNFILLED.exec(text);
  if (unfilled !== null) return !isUnique(text.slice(unfilled.index + unfilled[0].length));
  return NAMED_NOTHING.test(text) || SCIENTIFIC.test(text) || AS_WRITTEN.test(text);
}

const isUnique = (text: string): boolean => (text.match(UNIQUE) ?? []).some((one) => WITH_DIGIT.test(one));

/** Whether a text holds hex digits, hyphens and dots alone. A loop, as this runs on every id of every event. */
function isOfHexDigits(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isDigit = code >= 0x30 && code <= 0x39;
    const letter = code | 0x20;
    if (!isDigit && !(letter >= 0x61 && letter <= 0x66) && code !== 0x2d && code !== 0x2e) return false;
  }
  return true;
}

/** Whether a hash is one of a placeholder, or of nothing. */
export function isPlaceholderHash(text: string): boolean {
  const trimmed = text.trim();
  return HASH_CHARACTERS.includes(trimmed.length) && HASHES.has(trimmed.toLowerCase());
}

/** What programs write in place of a text that they do not have, as they write it: people are called Null, Nan and Nil. */
const UNSTATED: ReadonlySet<string> = new Set(
  'null,NULL,undefined,UNDEFINED,NaN,None,none,nil,n/a,N/A,#N/A,\\N,(not set),not set,(none),unknown,Unknown,UNKNOWN'.split(
    ',',
  ),
);

/** Whether what stands for a name, a place or a user agent says that there is none. */
export function isMissingId(sent: string): boolean {
  const text = sent.trim();
  if (text.length > CHARACTERS_MAX) return false;
  return (
    UNSTATED.has(text) ||
    NOTHING.test(text) ||
    OBJECT.test(text) ||
    WHOLE_TEMPLATE.test(text) ||
    isPlaceholderHash(text)
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

// E-mail addresses and telephone numbers that are filled in where none is known: by them strangers would be one person.

/** What stands before the @ of an address that is nobody's, whatever stands behind it. */
const NOBODYS =
  'undefined,null,none,noemail,nomail,noemailaddress,nomailaddress,noemailprovided,nomailprovided,emailnotprovided,notprovided,notset,' +
  'noreply,donotreply,nobody,noone,unknown,anonymous,anon,guest,guestuser,dummy,fake,fakeemail,placeholder,invalid,' +
  'keine,keinemail,keineemail,sansmail,sansemail,pasdemail,sincorreo,noposee';
/** What stands before it where nobody is meant if such a word or the name of a mail provider stands behind it: `test@test.com`. */
const FILLED_IN =
  'test,tester,testing,testuser,na,no,nil,nan,email,mail,emailaddress,user,username,name,yourname,youremail,customer,client,kunde,' +
  'example,sample,demo,admin,abc,abcd,abcde,abcdef,asd,asdf,asdfgh,qwe,qwerty,foo,bar,foobar,123,1234,12345,123456';
const PROVIDERS = 'example,domain,yourdomain,gmail,googlemail,yahoo,hotmail,outlook,icloud,mail,email';
const NOBODYS_LOCALS: ReadonlySet<string> = new Set(NOBODYS.split(','));
const FILLED_IN_LOCALS: ReadonlySet<string> = new Set(FILLED_IN.split(','));
const NOBODYS_DOMAINS: ReadonlySet<string> = new Set(`${NOBODYS},${FILLED_IN},${PROVIDERS}`.split(','));
const NOBODYS_ADDRESSES: ReadonlySet<string> = new Set(
  'a@a.com,a@a.a,a@b.c,a@b.com,x@x.com,x@x.x,x@y.z,x@y.com'.split(','),
);
/** `aaa@aaa.com`. */
const REPEATED_ADDRESS = /^(.)\1+@\1+\./;
const SHA256 = /^[0-9a-f]{64}$/i;

/**
 * Whether an address is one that people and programs fill in where they know none: `noemail@…`, `test@test.com`.
 *
 * @param address In lower case.
 */
export function isPlaceholderAddress(address: string): boolean {
  const at = address.lastIndexOf('@');
  if (at < 1) return false;
  const local = address.slice(0, at).split('+', 1)[0]?.replace(SEPARATORS, '') ?? '';
  if (NOBODYS_LOCALS.has(local)) return true;
  const [label = ''] = address.slice(at + 1).split('.', 1);
  if (FILLED_IN_LOCALS.has(local) && NOBODYS_DOMAINS.has(label)) return true;
  return NOBODYS_ADDRESSES.has(address) || REPEATED_ADDRESS.test(address);
}

/** Digits at the end of a number that nobody has by chance: all equal, and counted up or down or two in turn. */
const EQUAL_MIN = 7;
const COUNTED_MIN = 8;
/** Pairs that are counted, as forms show them. */
const COUNTED_PAIRS = /(?:0?102030405|0?1020304050|1122334455)$/;

/** Whether a telephone number, without its calling code or with it, is one that forms are filled with: `0000000`, `12345678`. */
export function isDummyNumber(digits: string): boolean {
  const equal = runAtEnd(digits, 1, 0);
  if (equal >= Math.min(EQUAL_MIN, Math.max(digits.length - 1, 3))) return true;
  const counted = Math.max(runAtEnd(digits, 1, 1), runAtEnd(digits, 1, 9), runAtEnd(digits, 2, 0));
  return counted >= Math.min(COUNTED_MIN, Math.max(digits.length, 4)) || COUNTED_PAIRS.test(digits);
}

/** How many digits at the end each differ by `step` from the one `apart` before them, 0 following 9. */
function runAtEnd(digits: string, apart: number, step: number): number {
  let at = digits.length - 1;
  while (at >= apart && (digits.charCodeAt(at) - digits.charCodeAt(at - apart) + 10) % 10 === step) at -= 1;
  return digits.length - at - 1 + apart;
}

/** Whether a SHA-256 is that of such an address or number, or of a calling code with nothing behind it. */
export function isPlaceholderContactHash(text: string): boolean {
  return SHA256.test(text) && CONTACT_HASHES.has(text.toLowerCase());
}

function usualAddresses(): string[] {
  const locals = `${NOBODYS},${FILLED_IN}`.split(',');
  const domains = [
    'example.com',
    'test.com',
    'noemail.com',
    'none.com',
    'gmail.com',
    'yahoo.com',
    'email.com',
    'mail.com',
  ];
  return [
    ...locals.flatMap((local) =>
      [`${local}.com`, `${local}.${local}`, ...domains].map((domain) => `${local}@${domain}`),
    ),
    ...NOBODYS_ADDRESSES,
  ].filter(isPlaceholderAddress);
}

const CALLING_CODES = 999;
const NUMBER_DIGITS = { min: 5, max: 13 };
const COUNTED = ['0123456789', '1234567890', '12345678901', '9876543210', '0987654321'];

function usualNumbers(): string[] {
  const lengths = Array.from({ length: NUMBER_DIGITS.max - NUMBER_DIGITS.min + 1 }, (_, at) => NUMBER_DIGITS.min + at);
  const equal = '0123456789'.split('').flatMap((digit) => lengths.map((length) => digit.repeat(length)));
  const counted = COUNTED.flatMap((digits) =>
    lengths.flatMap((length) => (length <= digits.length ? [digits.slice(0, length)] : [])),
  );
  const codes = Array.from({ length: CALLING_CODES }, (_, at) => `+${at + 1}`);
  return [...codes, ...[...equal, ...counted].flatMap((one) => [one, `+${one}`, `1${one}`, `+1${one}`])];
}

const CONTACT_HASHES: ReadonlySet<string> = new Set(
  [...usualAddresses(), ...usualNumbers()].map((one) => hash('sha256', one)),
);
