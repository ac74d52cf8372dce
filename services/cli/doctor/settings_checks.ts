// What is to be said of the environment: what is set wrong, and secrets that are none. Values are never part of it.
import type { CertificateFacts } from '#infra/certificates.ts';
import { type CheckResult, failure, listed, OPERATIONS, ok, warning } from './doctor.ts';

const CONFIGURATION = 'docs/configuration.md';

/** @param faults Of variables that are set; @param unread those that nothing reads. */
export function configurationChecks(faults: readonly string[], unread: readonly string[]): CheckResult[] {
  const check = 'configuration.valid';
  const found = [
    ...faults.map((fault) => failure(check, fault, CONFIGURATION)),
    ...unread.map((text) => warning(check, text, CONFIGURATION)),
  ];
  return found.length === 0 ? [ok(check, 'every variable that is set can be used')] : found;
}

/** A login that is sent to an address. */
export interface Login {
  /** Of the checks, as `redis`. */
  part: string;
  /** The variable that holds it. */
  variable: string;
  host: string;
  isEncrypted: boolean;
  /** Null: there is none. */
  password: string | null;
}

const PASSWORD_CHARACTERS_MIN = 12;
/** Out of examples, and what is tried first. */
const GUESSED =
  /^(?:password|passwort|secret|changeme|change-me|admin|svc|test|guest|redis|clickhouse|kafka|default|123456\d*)$/i;

export function loginChecks(logins: readonly Login[]): CheckResult[] {
  return logins.flatMap(({ part, variable, host, isEncrypted, password }) => {
    const isHere = isLoopback(host);
    const login = `${part}.login`;
    const line = `${part}.encryption`;
    const who = `${variable} has`;
    return [
      password === null
        ? isHere
          ? ok(login, `${who} no password, and leads to this machine`)
          : warning(
              login,
              `${who} no password: anyone who reaches ${part} can read everything`,
              `${OPERATIONS}#changing-passwords`,
            )
        : GUESSED.test(password)
          ? failure(login, `${who} a password that is easily guessed`, `${OPERATIONS}#changing-passwords`)
          : password.length < PASSWORD_CHARACTERS_MIN
            ? warning(
                login,
                `${who} a password of less than ${PASSWORD_CHARACTERS_MIN} characters`,
                `${OPERATIONS}#changing-passwords`,
              )
            : ok(login, `${who} a password`),
      isEncrypted || isHere
        ? ok(line, isEncrypted ? `the connection to ${part} is encrypted` : `${part} is on this machine`)
        : warning(
            line,
            `the connection to ${part} is not encrypted${password === null ? '' : ', password included'}`,
            `use TLS, unless the network is yours alone: ${CONFIGURATION}`,
          ),
    ];
  });
}

/** @param counts Passwords by user; null: this login may not look, as hardly one may. */
export function passwordsChecks(part: string, counts: ReadonlyMap<string, number> | null): CheckResult[] {
  if (counts === null || counts.size === 0) return [];
  const check = `${part}.passwords`;
  const several = [...counts].flatMap(([user, count]) => (count > 1 ? [user] : []));
  return several.length === 0
    ? [ok(check, `each user of ${part} has one password`)]
    : [
        warning(
          check,
          `old passwords still work: ${listed(several)}`,
          `svc password finish ${part} (here: rotate): ${OPERATIONS}#changing-passwords`,
        ),
      ];
}

export const isLoopback = (host: string): boolean => /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(host);

/** A secret that was made by a machine has about as many different bytes as it has bytes. */
const DIFFERENT_MIN = 12;

/** Keys in base64, by the variables that hold them. */
export function secretChecks(secrets: ReadonlyMap<string, readonly string[]>): CheckResult[] {
  return [...secrets].map(([variable, keys]) => {
    const check = `secrets.${variable.toLowerCase()}`;
    const weak = keys.some((key) => new Set(Buffer.from(key, 'base64')).size < DIFFERENT_MIN);
    return weak
      ? failure(
          check,
          `${variable} is not random`,
          `openssl rand -base64 32 makes one: ${OPERATIONS}#changing-the-sealing-keys`,
        )
      : ok(check, `${variable} looks like a secret`);
  });
}

const DAY_MS = 86_400_000;
const DAYS_LEFT = 30;

/** @param whose As `kafka.certificate`. */
export function certificateCheck(
  whose: string,
  { validToMs, untrusted }: CertificateFacts,
  nowMs: number,
): CheckResult {
  const days = Math.floor((validToMs - nowMs) / DAY_MS);
  const todo = 'renew it; processes read their CA file when they start';
  if (validToMs <= nowMs) return failure(whose, `the certificate expired ${-days} days ago`, todo);
  if (untrusted !== null)
    return failure(
      whose,
      `the certificate is not trusted: ${untrusted}`,
      `set its authority (KAFKA_TLS_CA_FILE, NODE_EXTRA_CA_CERTS): ${CONFIGURATION}`,
    );
  return days < DAYS_LEFT
    ? warning(whose, `the certificate expires in ${days} days`, todo)
    : ok(whose, `the certificate is valid for ${days} days`);
}

const NODE_MIN = 24;

export function nodeCheck(version: string): CheckResult {
  const [major = '0'] = version.replace(/^v/, '').split('.');
  return Number(major) >= NODE_MIN
    ? ok('node.version', `Node ${version}`)
    : failure('node.version', `Node ${version} cannot run the service`, `use Node ${NODE_MIN} or later`);
}
