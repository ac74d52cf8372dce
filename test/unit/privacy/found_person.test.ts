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

describe('of several names of one thing', () => {
  const said = (properties: Record<string, unknown>) => {
    const { identifiers, further, client_ip, client_user_agent, country, city } = foundIn(properties);
    return { ...identifiers, further, client_ip, client_user_agent, country, city };
  };
  const bothOrders = (properties: Record<string, unknown>) => [
    said(properties),
    said(Object.fromEntries(Object.entries(properties).toReversed())),
  ];
  const ann = { email: sha256('ann@a.example') };
  const phone = { phone: sha256('+16505551212') };

  it.each([
    [{ email: 'ann@a.example', shipping_email: 'carl@c.example', shipping_first_name: 'Carl' }, ann],
    [{ email: 'ann@a.example', contact_email: 'carl@c.example' }, ann],
    [{ email: 'ann@a.example', email2: 'carl@c.example' }, ann],
    [{ email: 'ann@a.example', Email: 'carl@c.example', user_data: { email: 'carl@c.example' } }, ann],
    [{ user_data: { em: 'ann@a.example' }, contact_email: 'carl@c.example', shipping_email: 'd@d.example' }, ann],
    [{ email: 'ann@a.example', customer: { email: 'carl@c.example', shipping_email: 'd@d.example' } }, ann],
    [{ contact_email: 'ann@a.example', shipping_email: 'carl@c.example' }, ann],
    ...['shipping_phone', 'fax', 'mobile', 'work_phone', 'contact_phone'].map(
      (other): [Record<string, unknown>, object] => [{ phone: '6505551212', [other]: '+442079460958' }, phone],
    ),
    [{ phone: '6505551212', mobile: Array.from({ length: 16 }, (_, at) => `+4420794609${String(10 + at)}`) }, phone],
    [{ external_id: 'c-1', externalId: 'c-2' }, { external_id: sha256('c-1') }],
    [{ first_name: 'Ann', firstName: 'Carl', shipping_first_name: 'D' }, { first_name: sha256('ann') }],
    [{ client_ip_address: '203.0.113.50', ip: '198.51.100.9' }, { client_ip: '203.0.113.50' }],
    [{ client_user_agent: 'Ann/1', user_agent: 'Carl/1' }, { client_user_agent: 'Ann/1' }],
    [
      { phone: '0171 1234567', country: 'DE', country_code: '49' },
      { country: 'DE', phone: sha256('+491711234567') },
    ],
    [{ country: 'DE', context: { country: 'FR' }, user_data: { country: 'US' } }, { country: 'DE' }],
  ])('in %j the one of the contract leads, wherever it stands', (properties, expected) => {
    for (const found of bothOrders(properties)) expect(found).toMatchObject(expected);
  });

  it.each([
    [{ email_address: 'ann@a.example', em: 'carl@c.example' }, ann],
    [{ mobile: '6505551212', work_phone: '+442079460958' }, phone],
    [{ ip: '203.0.113.50', ip_address: '198.51.100.9' }, { client_ip: '203.0.113.50' }],
    [{ user_data: { email: 'carl@c.example' }, em: 'ann@a.example' }, ann],
    [{ user: { email: 'ann@a.example' }, customer: { email: 'carl@c.example' } }, ann],
  ])('in %j the first leads, or that at the top', (properties, expected) => {
    expect(said(properties)).toMatchObject(expected);
  });

  it.each<[Record<string, unknown>, string[]]>([
    [{ shipping_email: 'carl@c.example', shipping_first_name: 'Carl' }, ['email', 'first_name']],
    [{ contact_email: 'carl@c.example', first_name: 'Carl' }, ['email', 'first_name']],
    [{ email: 'carl@c.example', contact_phone: '6505551212' }, ['email', 'phone']],
    [{ fax: '6505551212' }, ['phone']],
  ])('in %j there is but one, which leads', (properties, kinds) => {
    for (const kind of kinds) expect(said(properties)).toHaveProperty(kind, expect.stringMatching(/^[0-9a-f]{64}$/));
  });

  it.each([
    [{ email: 'ann@a.example', shipping_phone: '+442079460958' }, { phone: sha256('+442079460958') }],
    [{ phone: '6505551212', shipping_email: 'carl@c.example' }, { email: sha256('carl@c.example') }],
  ])('whom the goods of %j go to only helps to match', (properties, beside) => {
    const sent = { ...properties, shipping_first_name: "D'Arcy", shipping_last_name: 'Carlson' };
    for (const { further, ...found } of bothOrders(sent)) {
      expect(found).toMatchObject({ first_name: null, last_name: null });
      expect(found).not.toMatchObject(beside);
      expect(further).toMatchObject([beside]);
      expect(further).not.toMatchObject([{ first_name_google: expect.anything() }]);
    }
  });

  it('keeps the variants of an address that is there as a hash as well', () => {
    const address = 'ann.lee@gmail.com';
    for (const found of bothOrders({ email: address, hashed_email: sha256(address) }))
      expect(found).toMatchObject({ email: sha256(address), email_google: sha256('annlee@gmail.com'), further: [] });
  });

  it('takes no calling code for a country', () => expect(said({ country_code: '49' }).country).toBeNull());
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
