import { type RunIdentity, runNumber, runToken } from './ids.ts';
import { PHONE_COUNT, PHONE_STRIDE, phoneAt } from './phones.ts';
import type { Random } from './random.ts';

/** A customer who has told the site who they are. Everything about them is made up. */
export interface Customer {
  firstName: string;
  lastName: string;
  email: string;
  phone: string;
  externalId: string;
  city: string;
  zip: string;
  country: string;
}

const FIRST_NAMES =
  'Ada,Bruno,Clara,Dmitri,Élodie,Farid,Grace,Hiro,Ingrid,Jonas,Kofi,Lucía,Mary Ann,Noor,Oskar,Priya,Quentin,Rosa,Søren,Tomás'.split(
    ',',
  );
const LAST_NAMES =
  "Almeida,Bergström,O'Brien,Castillo,Dupont,Eriksen,Fischer,García-Ruiz,Haddad,Ito,Jensen,Kowalski,Lindqvist,Müller,Nakamura,Okafor,Petrov,Silva,Tanaka,van Dijk".split(
    ',',
  );
const PLACES: readonly (readonly [city: string, zip: string, country: string])[] = [
  ['New York', '10001', 'US'],
  ['San Francisco', '94103', 'US'],
  ['London', 'SW1A 1AA', 'GB'],
  ['Köln', '50667', 'DE'],
  ['Lyon', '69001', 'FR'],
  ['Göteborg', '411 01', 'SE'],
];

function plain(name: string): string {
  return name
    .normalize('NFD')
    .replaceAll(/[^a-z]/gi, '')
    .toLowerCase();
}

/** The `index`-th customer of the run. E-mail, phone and customer number belong to nobody else in the run. */
export function drawCustomer(identity: RunIdentity, random: Random, index: number): Customer {
  const firstName = random.pick(FIRST_NAMES);
  const lastName = random.pick(LAST_NAMES);
  const [city, zip, country] = random.pick(PLACES);
  const first = runNumber(identity, 'phones') % PHONE_COUNT;
  return {
    firstName,
    lastName,
    email: `${plain(firstName) || 'guest'}.${plain(lastName) || 'guest'}.${index}.${runToken(identity)}@example.com`,
    phone: phoneAt(first + index * PHONE_STRIDE),
    externalId: `C-${runToken(identity)}-${index}`,
    city,
    zip,
    country,
  };
}

/** The address as people type it: white space around it and capitals in it mean the same address. */
export function spellEmail(email: string, style: number): string {
  if (style % 3 === 1) return ` ${email} `;
  if (style % 3 === 2)
    return email.replace(/^(.)/, (letter) => letter.toUpperCase()).replace('example.com', 'Example.COM');
  return email;
}

/** The canonical names under which an identity is stitched in the ledger. */
export const identityOf = {
  email: (customer: Customer): string => `email:${customer.email}`,
  phone: (customer: Customer): string => `phone:${customer.phone}`,
  externalId: (customer: Customer): string => `external_id:${customer.externalId}`,
};
