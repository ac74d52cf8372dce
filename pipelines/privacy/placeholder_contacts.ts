// E-mail addresses and telephone numbers that are filled in where none is known: by them strangers would be one person.
import { hash } from 'node:crypto';

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

const SEPARATORS = /[\s_.-]+/g;
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
  return SHA256.test(text) && HASHES.has(text.toLowerCase());
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

const HASHES: ReadonlySet<string> = new Set([...usualAddresses(), ...usualNumbers()].map((one) => hash('sha256', one)));
