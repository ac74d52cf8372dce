import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { cleanProperties } from '#pipelines/privacy/clean_properties.ts';
import { server, siteWith, take } from '#test/unit/intake/context.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function foundIn(properties: Record<string, unknown>, defaultCountry: string | null = 'US') {
  const outcome = cleanProperties(properties, { anonymous: false, defaultCountry, countries: [], lifted: new Set() });
  if (!outcome.ok) throw new Error(outcome.problem);
  return outcome.found;
}

const phonesOf = (properties: Record<string, unknown>, country: string | null = 'US') => {
  const { identifiers, further } = foundIn(properties, country);
  return [identifiers, ...further].flatMap((one) => one?.phone ?? []);
};
const emailsOf = (properties: Record<string, unknown>) => {
  const { identifiers, further } = foundIn(properties);
  return [identifiers, ...further].flatMap((one) => one?.email ?? []);
};

describe('a national phone number', () => {
  it.each([
    [{ phone: '0470 12 34 56', country: 'BE' }, '+32470123456'],
    [{ country: 'Belgium', phone: '0470123456' }, '+32470123456'],
    [{ phone: '0470123456', user_data: { country: 'België' } }, '+32470123456'],
    [{ user_data: { ph: '0470123456', country: sha256('be') } }, '+32470123456'],
    [{ phone: '(650) 555-1212', country: 'BE' }, '+16505551212'],
    [{ phone: '(650) 555-1212' }, '+16505551212'],
    [{ phone: '(650) 555-1212', country: 'Atlantis' }, '+16505551212'],
    [{ phone: '+44 20 7946 0958', country: 'BE' }, '+442079460958'],
  ])('in %j is %s', (properties, number) => expect(phonesOf(properties)).toEqual([sha256(number)]));

  it('of another country is no number of North America', () => expect(phonesOf({ phone: '0470123456' })).toEqual([]));
});

describe('several of one kind', () => {
  it.each([
    { emails: ['jane@example.com', 'jane@work.example'] },
    { email: 'jane@example.com', user_data: { em: ['jane@example.com', 'JANE@work.example '] } },
    { user_data: { em: [sha256('jane@work.example')] }, email: 'jane@example.com' },
    { em: ['jane@example.com', 'nonsense', 7, null, 'jane@work.example', 'jane@example.com'] },
  ])('addresses in %j are all kept, the first leads', (properties) => {
    expect(emailsOf(properties)).toEqual([sha256('jane@example.com'), sha256('jane@work.example')]);
  });

  it.each([
    { phone: ['+16505551212', '020 7946 0958'], country: 'GB' },
    { user_data: { ph: ['020 7946 0958'] }, phone: '+16505551212', country: 'GB' },
  ])('numbers in %j are all kept, the first leads', (properties) => {
    expect(phonesOf(properties)).toEqual([sha256('+16505551212'), sha256('+442079460958')]);
  });

  it('are bounded', () => {
    const many = Array.from({ length: 500 }, (_, at) => `jane${at}@example.com`);
    expect(emailsOf({ emails: many, email: many.slice(100) }).length).toBeLessThanOrEqual(9);
    const numbers = Array.from({ length: 500 }, (_, at) => `+1650555${String(1000 + at)}`);
    expect(phonesOf({ phone: numbers }).length).toBeLessThanOrEqual(9);
  });
});

describe('another form', () => {
  const othersOf = (properties: Record<string, unknown>) => foundIn(properties).further;

  it.each([
    [{ external_id: ' AbC-9 ' }, { external_id: sha256('abc-9') }],
    [{ first_name: "D'Arcy" }, { first_name_google: sha256("d'arcy") }],
    [
      { first_name: 'Jean-Luc', last_name: 'O’Neill' },
      { first_name_google: sha256('jean-luc'), last_name_google: sha256('o’neill') },
    ],
  ])('of %j is kept beside', (properties, form) => expect(othersOf(properties)).toMatchObject([form]));

  it.each([
    { external_id: 'abc' },
    { external_id: sha256('AbC') },
    { first_name: 'Mary Ann' },
    { first_name: sha256('x') },
    {},
  ])('there is none of %j', (properties) => expect(othersOf(properties)).toEqual([]));
});

it('what is kept beside joins nobody, and an event without has no such field', () => {
  const properties = { emails: ['jane@example.com', 'friend@example.com'] };
  const event = take({ event: 'e', properties }, server());
  expect(event.identifiers?.email).toBe(sha256('jane@example.com'));
  expect(event.further_identifiers).toMatchObject([{ email: sha256('friend@example.com') }]);
  expect(take({ event: 'e', properties: { email: 'jane@example.com' } }, server())).not.toHaveProperty(
    'further_identifiers',
  );
  const offline = server({ site: siteWith({ mode: 'offline' }) });
  expect(take({ event: 'e', properties }, offline)).not.toHaveProperty('further_identifiers');
});
