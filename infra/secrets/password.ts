import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

/** As many sign-ins wait already as may. */
export class PasswordsBusyError extends Error {
  readonly code = 'passwords_busy';
}

/** Where a password waits. `known`: of somebody in a session, or from where they signed in before; all others come after them. */
export type PasswordLine = 'known' | 'anybody';

/** Hashes passwords and compares them, off the event loop and a few at once. */
export type Passwords = ReturnType<typeof createPasswords>;

/** What a hash costs: N is 2 to the power of `ln`. 32 MiB for each, three times over: 0.2 s and more of one core. */
const COST = { ln: 15, r: 8, p: 3 };
type Cost = typeof COST;

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const AT_ONCE = 2;
/** Of each line: many who try from everywhere take no place of those who are known. */
const WAITING_MAX = 20;
/** What a stored hash may cost at the most: a hash that somebody else made is not to take the machine. */
const LN_MAX = 17;
const PATTERN = /^\$scrypt\$ln=(\d{2}),r=8,p=([1-9])\$([A-Za-z0-9_-]{22})\$([A-Za-z0-9_-]{43})$/;

export const isPasswordHash = (text: string): boolean => parsed(text) !== null;

export function createPasswords(cost: Cost = COST) {
  let running = 0;
  const lines: Record<PasswordLine, (() => void)[]> = { known: [], anybody: [] };

  async function inTurn<T>(line: PasswordLine, work: () => Promise<T>): Promise<T> {
    if (running >= AT_ONCE) {
      if (lines[line].length >= WAITING_MAX) throw new PasswordsBusyError('too many passwords to compare');
      await new Promise<void>((resolve) => void lines[line].push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = lines.known.shift() ?? lines.anybody.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }

  const unknown = { cost, salt: randomBytes(SALT_BYTES), digest: randomBytes(HASH_BYTES) };
  return {
    /** @throws PasswordsBusyError */
    hash: (password: string, line: PasswordLine = 'known'): Promise<string> =>
      inTurn(line, async () => {
        const salt = randomBytes(SALT_BYTES);
        const digest = await derived(password, salt, cost);
        const { ln, r, p } = cost;
        return `$scrypt$ln=${ln},r=${r},p=${p}$${salt.toString('base64url')}$${digest.toString('base64url')}`;
      }),
    /** Compares with a hash; with null it takes as long, and says no. @throws PasswordsBusyError */
    verify: (password: string, stored: string | null, line: PasswordLine): Promise<boolean> =>
      inTurn(line, async () => {
        const known = stored === null ? null : parsed(stored);
        const against = known ?? unknown;
        const digest = await derived(password, against.salt, against.cost);
        // HMAC fills its keys up with NULs: with one more at its end a password would have the same hash.
        return timingSafeEqual(digest, against.digest) && known !== null && !password.endsWith('\0');
      }),
  };
}

function parsed(text: string): { cost: Cost; salt: Buffer; digest: Buffer } | null {
  const [, ln, p, salt = '', digest = ''] = PATTERN.exec(text) ?? [];
  if (ln === undefined || Number(ln) > LN_MAX) return null;
  const cost = { ln: Number(ln), r: 8, p: Number(p) };
  return { cost, salt: Buffer.from(salt, 'base64url'), digest: Buffer.from(digest, 'base64url') };
}

/** One spelling of a password whatever keyboard it was typed on (RFC 8265 asks for NFC). */
function derived(password: string, salt: Buffer, { ln, r, p }: Cost): Promise<Buffer> {
  const N = 2 ** ln;
  // Node refuses what may take more; of p rounds only one holds its memory at a time.
  const options: ScryptOptions = { N, r, p, maxmem: 128 * r * (N + p + 16) };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
