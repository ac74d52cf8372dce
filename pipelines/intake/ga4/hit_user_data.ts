import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { asSha256 } from '#pipelines/privacy/hashed_form.ts';

const BASE64_OF_SHA256 = /^[A-Za-z0-9_+/-]{43}=?$/;
const INDEX = /^\d{1,2}$/;
/** Addresses of one person that are looked at. */
const ADDRESSES_MAX = 4;
const VALUES_MAX = 8;

/** What the blob `em` calls a person's data, and the member it becomes; those of an address have its number behind them. */
const BLOB_FIELDS: ReadonlyMap<string, string> = new Map([
  ['em', 'sha256_email_address'],
  ['pn', 'sha256_phone_number'],
]);
const BLOB_ADDRESS_FIELDS: ReadonlyMap<string, string> = new Map([
  ['fn', 'sha256_first_name'],
  ['ln', 'sha256_last_name'],
  ['ct', 'city'],
  ['rg', 'region'],
  ['pc', 'postal_code'],
  ['co', 'country'],
]);
const PLAIN_IN_BLOB = new Set(['pc', 'co']);
const PLAIN = /^[A-Za-z0-9 -]{2,12}$/;

/** What a hit says of a person, gathered into the form of GA4's `user_data`. */
export interface UserData {
  /** Takes what stands under `user_data.<path>`, as it was typed. */
  add(path: string, value: string): void;
  /** Takes gtag's blob of hashes, `tv.1~em.<hash>~fn0.<hash>`; what is no hash in it is nobody's to keep. */
  addBlob(blob: string): void;
  /** Null where nothing was said. */
  gathered(): JsonObject | null;
}

export function gatherUserData(): UserData {
  const values = new Map<string, string[]>();
  const addresses = new Map<number, Map<string, string>>();

  function put(name: string, value: string): void {
    const known = values.get(name) ?? [];
    if (known.length < VALUES_MAX) values.set(name, [...known, value]);
  }
  function putAddress(at: number, name: string, value: string): void {
    const address = addresses.get(at) ?? new Map<string, string>();
    if (addresses.size < ADDRESSES_MAX || addresses.has(at)) addresses.set(at, address.set(name, value));
  }
  function addFromBlob(part: string): void {
    const [, name = '', number = '0', sent = ''] = /^([a-z]{2})(\d?)\.(.+)$/.exec(part) ?? [];
    const value = hashIn(sent) ?? (PLAIN_IN_BLOB.has(name) && PLAIN.test(sent) ? sent : null);
    if (value === null) return;
    const member = BLOB_FIELDS.get(name);
    if (member !== undefined) put(member, value);
    const ofAddress = BLOB_ADDRESS_FIELDS.get(name);
    if (ofAddress !== undefined) putAddress(Number(number), ofAddress, value);
  }

  return {
    add(path, value) {
      const steps = path.split('.', 4);
      const [first = '', ...rest] = steps;
      const names = rest.filter((step) => !INDEX.test(step));
      if (first !== 'address') put([first, ...names].join('_'), value);
      else putAddress(Number(rest.find((step) => INDEX.test(step)) ?? 0), names.join('_'), value);
    },
    addBlob(blob) {
      const [version, ...parts] = blob.split('~', 64);
      if (version === 'tv.1') parts.forEach(addFromBlob);
    },
    gathered() {
      const members: [string, unknown][] = [...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]);
      const places = [...addresses.values()].map((address) => Object.fromEntries(address));
      if (places.length > 0) members.push(['address', places]);
      return members.length === 0 ? null : Object.fromEntries(members);
    },
  };
}

/** A SHA-256 in hex, of one written in hex or in base64. */
function hashIn(text: string): string | null {
  const hex = BASE64_OF_SHA256.test(text) ? Buffer.from(text, 'base64').toString('hex') : text;
  return asSha256(hex);
}
