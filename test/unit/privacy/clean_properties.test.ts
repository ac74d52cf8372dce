import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Cleaning, cleanProperties, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { checkAll } from '#test/harness/check_all.ts';

const ONLINE: Cleaning = { anonymous: false, defaultCountry: 'US', countries: ['US'], lifted: new Set() };
const OFFLINE: Cleaning = { ...ONLINE, anonymous: true };
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function clean(properties: JsonObject, cleaning = ONLINE) {
  const outcome = cleanProperties(properties, cleaning);
  if (!outcome.ok) throw new Error(outcome.problem);
  return outcome;
}

describe('keys that identify a person are removed', () => {
  it('by each of their names, at every depth', () =>
    checkAll(
      [
        'email e-mail E_Mail emailAddress email_address user_email userEmail EMAIL em $email customer-email billing.email',
        'sha256_email_address hashedEmail email_hash friendEmail recipient_email emails emailAddresses',
        'phone phone_number phoneNumber PhoneNo telephone mobilePhone mobile_number msisdn cell_phone userPhone phones',
        'sha256_phone_number phone_hash ep.user_data.phone_number ud[ph] contactNumber',
        'first_name firstName first-name FirstName fn givenName given_name forename user[first_name]',
        'last_name lastName ln surname family_name familyName billing_last_name fullName full_name middle_name customerName',
        'street street_address streetAddress address address1 address_line_2 billingAddress shipping_address',
        'client_ip_address client_user_agent ip $ip ipAddress userAgent user_agent $raw_user_agent',
      ]
        .join(' ')
        .split(' '),
      (key) => {
        const value = '4155550100';
        const properties = { a: 1, [key]: value, deep: { list: [{ b: 2, [key]: value }] } };
        expect(clean(properties).properties).toEqual({ a: 1, deep: { list: [{ b: 2 }] } });
      },
    ));

  it('where what may be a phone’s key has a phone as its value', () =>
    checkAll(['tel', 'mobile', 'cell', 'ph', 'whatsapp', 'work_phone2phone'], (key) => {
      expect(clean({ a: 1, [key]: '415-555-0100' }).properties).toEqual({ a: 1 });
      expect(clean({ a: 1, [key]: 4155550100 }).properties).toEqual({ a: 1 });
      expect(clean({ a: 1, [key]: 'iPhone 15' }).properties).toEqual({ a: 1, [key]: 'iPhone 15' });
      expect(clean({ a: 1, [key]: 7.2 }).properties).toEqual({ a: 1, [key]: 7.2 });
      expect(clean({ a: 1, [key]: true }).properties).toEqual({ a: 1, [key]: true });
    }));

  it('and the name inside of what is a person', () =>
    checkAll(['user', 'customer', 'user_data', 'traits', '$set', 'person', 'recipient', 'guest', 'shipping'], (key) => {
      expect(clean({ [key]: { name: 'Jane Doe', plan: 'pro' } }).properties).toEqual({ [key]: { plan: 'pro' } });
      expect(clean({ order: { [key]: [{ name: 'Jane Doe', plan: 'pro' }] } }).properties).toEqual({
        order: { [key]: [{ plan: 'pro' }] },
      });
    }));
});

describe('what does not identify a person stays', () => {
  it('whatever it looks like', () =>
    checkAll<JsonObject>(
      [
        { name: 'Runner 2', items: [{ name: 'Shoe', brand: 'B' }] },
        { email_opt_in: true, email: true, has_phone: false, newsletter_email: false },
        { email: null, phone: null },
        { filename: 'a.pdf', campaign_name: 'spring', phone_model: 'Pixel', headphone: 'WH-1000', microphone: 'M' },
        { user: { company: { name: 'Acme' }, plan: 'pro' } },
        { constructor: 'Ferrari', prototype: 1, toString: 'x', hasOwnProperty: 2 },
        { gclid: 'a', fbp: 'fb.1.1.2', user_id: 'u-1', external_id: 'c-1', session_id: 's' },
        { list: [1, null, true, 'x', [], {}], nothing: {} },
      ],
      (properties) => {
        expect(clean(properties).properties).toEqual(properties);
      },
    ));

  it('is shared with the input, which is left as it was', () => {
    const items = [{ name: 'Shoe' }];
    const properties = Object.freeze({ items, email: 'jane@example.com', note: 'of jane@example.com' });
    const { properties: cleaned } = clean(properties);
    expect(cleaned).toEqual({ items, note: 'of redacted' });
    expect(cleaned['items']).toBe(items);
    expect(clean(cleaned).properties).toBe(cleaned);
  });
});

describe('cleaning', () => {
  it('redacts addresses in keys and keeps their members apart', () => {
    const properties = { 'jane@example.com': 1, 'john@example.com': 2, '+14155550100': 3, other: 4, '650-555-0142': 5 };
    expect(clean(properties).properties).toEqual({
      redacted: 1,
      redacted_1: 2,
      redacted_2: 3,
      other: 4,
      redacted_3: 5,
    });
  });

  it('removes __proto__', () => {
    const properties = JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": {"polluted": true}, "b": 1}}');
    const { properties: cleaned } = clean(properties as JsonObject);
    expect(JSON.stringify(cleaned)).toBe('{"a":{"b":1}}');
    expect(Object.getPrototypeOf(cleaned)).toBe(Object.prototype);
  });

  it('drops a container that held nothing else', () => {
    expect(clean({ a: 1, user_data: { email: 'jane@example.com', address: { street: 'x' } } }).properties).toEqual({
      a: 1,
    });
  });

  it('removes the lifted keys at the top only', () => {
    const cleaning = { ...ONLINE, lifted: new Set(['value']) };
    expect(clean({ value: 1, item: { value: 2 } }, cleaning).properties).toEqual({ item: { value: 2 } });
  });

  it('cleans JSON texts as what they say', () =>
    checkAll(
      [
        ['{"phone":"4155550100","a":1}', '{"a":1}'],
        [' [{"first_name":"Jane","name":"Shoe"}]', '[{"name":"Shoe"}]'],
        ['{"text":"{\\"email\\":\\"x\\",\\"b\\":2}"}', '{"text":"{\\"b\\":2}"}'],
        ['{"a":"jane\\u0040example.com"}', '{"a":"redacted"}'],
        ['{ "a": 1.0 }', '{ "a": 1.0 }'],
        ['{not json jane@example.com', '{not json redacted'],
      ],
      ([text, cleaned]) => {
        expect(clean({ text }).properties).toEqual({ text: cleaned });
      },
    ));

  it('writes what JSON has no word for as null', () => {
    expect(clean({ big: 1n, symbol: Symbol('s') }).properties).toEqual({ big: null, symbol: null });
  });
});

describe('identifiers', () => {
  const email = 'jane@example.com';
  it('are fed by each of these properties', () =>
    checkAll(
      [
        { email },
        { emailAddress: email },
        { user_data: { em: email } },
        { user_data: { em: [null, 'no address', email] } },
        { user: { email } },
        { customer: { 'e-mail': email } },
        { traits: { email } },
        { $set: { email } },
        { $set_once: { email } },
        { context: { traits: { email } } },
        { 'user_data.email': email },
        { 'ep.user_data.email': email },
        { ud: { em: sha256(email) } },
        { sha256_email_address: sha256(email) },
        { user_data: JSON.stringify({ email }) },
        { email: 'not an address', user: { email } },
        { user: { email: 'other@example.com' }, email },
      ],
      (properties) => {
        expect(clean(properties).found.identifiers?.email).toBe(sha256(email));
      },
    ));

  it('are not fed by these properties', () =>
    checkAll(
      [
        { friend_email: email },
        { order: { email } },
        { order: { customer: { email } } },
        { items: [{ email }] },
        { recipient: { email } },
        { context: { email } },
        { email: 'not an address' },
        { email: createHash('md5').update(email).digest('hex') },
        { note: email },
        { 'items[0].email': email },
      ],
      (properties) => {
        expect(clean(properties).found.identifiers).toBeNull();
      },
    ));

  it('of every kind are read from Google’s and Meta’s forms', () => {
    const google = {
      user_data: {
        phone_number: '+1 415 555 0100',
        address: [
          { first_name: 'Mary Ann', last_name: 'Doe', city: 'Bern', region: 'BE', postal_code: 3011, country: 'ch' },
        ],
      },
      external_id: 42,
    };
    const meta = {
      user_data: {
        ph: '14155550100',
        fn: 'Mary Ann',
        ln: 'Doe',
        ct: 'Bern',
        st: 'BE',
        zp: '3011',
        country: 'CH',
        external_id: ['42'],
      },
    };
    for (const properties of [google, meta]) {
      const { found } = clean(properties);
      expect(found.identifiers).toMatchObject({
        phone: sha256('+14155550100'),
        phone_digits: sha256('14155550100'),
        first_name: sha256('maryann'),
        first_name_google: sha256('mary ann'),
        last_name: sha256('doe'),
        external_id: sha256('42'),
      });
      expect(found).toMatchObject({ city: 'Bern', state: 'BE', zip: '3011', country: 'CH' });
    }
    expect(clean(google).properties).toEqual({ user_data: { address: [{}] }, external_id: 42 });
    expect(clean(meta).properties).toEqual({ user_data: { external_id: ['42'] } });
  });

  it('feed the device from the top, a person and Segment’s context', () => {
    for (const properties of [
      { client_ip_address: ' 203.0.113.9 ', client_user_agent: ' UA\u0000 ' },
      { user_data: { client_ip_address: '203.0.113.9', client_user_agent: 'UA' } },
      { context: { ip: '::ffff:203.0.113.9', userAgent: 'UA' } },
    ]) {
      expect(clean(properties)).toMatchObject({
        properties: {},
        found: { client_ip: '203.0.113.9', client_user_agent: 'UA' },
      });
    }
    expect(clean({ client_ip_address: 'nowhere', client_user_agent: '' }).found).toMatchObject({
      client_ip: null,
      client_user_agent: null,
    });
  });

  it('leave places that cannot be columns among the properties', () => {
    const properties = { city: { id: 7 }, zip: 'x'.repeat(101), state: true, region: 'EU' };
    expect(clean(properties).properties).toEqual(properties);
  });

  it('keep an external id that is no address readable', () => {
    expect(clean({ external_id: 'c-1' }).properties).toEqual({ external_id: 'c-1' });
    expect(clean({ external_id: email })).toMatchObject({
      properties: { external_id: 'redacted' },
      found: { identifiers: { external_id: sha256(email) } },
    });
  });
});

describe('for an anonymous site', () => {
  it('what identifies a visitor is removed at every depth', () =>
    checkAll(
      'email phone first_name external_id user_id userId uid customer_id client_ip_address user_agent fbclid gclid wbraid gbraid ttclid msclkid twclid yclid some_new_clid fbp _fbp fbc _fbc ttp _ga gcl_aw svc_did distinct_id anonymousId device_id session_id username idfa gaid birthday'.split(
        ' ',
      ),
      (key) => {
        const properties = { a: 1, [key]: 'x-1', deep: { list: [{ b: 2, [key]: 'x-1' }] } };
        expect(clean(properties, OFFLINE).properties).toEqual({ a: 1, deep: { list: [{ b: 2 }] } });
      },
    ));

  const OF_VISITORS =
    '_gl _scid _uetvid _uetsid _clck _clsk _hjSessionUser_1 _hjSessionUser_1234567 _hjSession_1234567 _pin_unauth _derived_epik _ga_ABC1234567 _gac_UA-1-1 _gcl_gs __gads _pk_id.1.1fff _vwo_uuid_v2 _shopify_y __kla_id _fs_uid _lfa _mkto_trk ttcsid criteo_id pubcid uid2 id5id ramp_id oaid appsflyer_id onesignal_id onesignal_player_id patient_id crm_contact_id braze_id intercom_id cio_id subscriber_key sfmc_subkey et_subscriberKey contact_key userKey visitor-key browser_fingerprint deviceFingerprint fingerprint_id cookie_id browser_id machine_id app_instance_id installation_id membership_no membershipNumber member-id membership_id customer_ref customer_reference client_number clientNo loyalty_card_number employee_no patient_number kundennummer Kundennr kunden-nr kunden_id Mitgliedsnummer klantnummer kundnummer asiakasnumero numero_client numeroCliente sid'.split(
      ' ',
    );
  it('so is what vendors and shops keep of one', () =>
    checkAll(OF_VISITORS, (key) => {
      const properties = { a: 1, [key]: 'x-1', deep: { list: [{ b: 2, [key]: 'x-1' }] } };
      expect(clean(properties, OFFLINE).properties).toEqual({ a: 1, deep: { list: [{ b: 2 }] } });
      expect(clean(properties).properties).toEqual(properties);
      const url = `https://a.example/?q=1&${key}=1*x*_ga*MTIz..*_ga_A1*MTcw&z=2`;
      expect(clean({ url }, OFFLINE).properties).toEqual({ url: `https://a.example/?q=1&${key}=redacted&z=2` });
    }));

  it('but not what only looks like it', () => {
    const keys =
      'side gallery global glaze _list _game _hint _pink scale clicks uetersen number reference key fingers product_key tracking_id';
    const properties = Object.fromEntries(keys.split(' ').map((key) => [key, 'x-1']));
    expect(clean(properties, OFFLINE).properties).toEqual(properties);
  });

  it('what could lead to somebody in another way goes too, also of what foreign protocols bring', () => {
    const properties = {
      plan: 'pro',
      ...{
        $anon_distinct_id: 'device-4711',
        $window_id: 'w',
        $group_key: 'acme',
        $group_set: { name: 'ACME', seats: 3 },
      },
      ...{
        user: 'u-77',
        customer: 4711,
        customer_no: '4711',
        loyalty_card: 'L1',
        iban: 'DE02',
        vin: 'W0L',
        latitude: 52.1,
      },
      ...{ previous_id: 'p', mixpanel_distinct_id: 'm', fcm_token: 't', password: 'x', cid: 'c' },
      context: { device: { id: 'd', token: 't', type: 'mobile' }, page: { path: '/a' } },
      traits: { id: 'u-77', plan: 'pro' },
      product: { id: 'sku-1', name: 'Lamp' },
      url: 'https://a.example/?customer=77&session=s&cid=3&q=1',
    };
    expect(clean(properties, OFFLINE).properties).toEqual({
      plan: 'pro',
      context: { page: { path: '/a' } },
      traits: { plan: 'pro' },
      product: { id: 'sku-1', name: 'Lamp' },
      url: 'https://a.example/?customer=redacted&session=redacted&cid=redacted&q=1',
    });
    expect(clean(properties).properties).toMatchObject({ vin: 'W0L', latitude: 52.1, cid: 'c', $group_key: 'acme' });
  });

  it('nothing is collected but the device, state and country', () => {
    const { found, properties } = clean(
      {
        email: 'a@b.com',
        phone: '+14155550100',
        first_name: 'J',
        city: 'Bern',
        zip: '1',
        state: 'BE',
        country: 'CH',
        ip: '1.2.3.4',
      },
      OFFLINE,
    );
    expect(properties).toEqual({});
    expect(found).toMatchObject({
      identifiers: null,
      further: [],
      client_ip: '1.2.3.4',
      client_user_agent: null,
      city: null,
      zip: null,
      state: 'BE',
      country: 'CH',
    });
  });

  it('addresses of the network and click ids in URLs go', () => {
    const properties = { seen: '203.0.113.9', url: 'https://a.example/?gclid=x&q=1' };
    expect(clean(properties, OFFLINE).properties).toEqual({
      seen: 'redacted',
      url: 'https://a.example/?gclid=redacted&q=1',
    });
  });
});

describe('properties are refused', () => {
  const nested = (levels: number): JsonObject => (levels === 0 ? {} : { a: nested(levels - 1) });
  const many = (count: number): JsonObject => ({ list: new Array(count).fill(0) });
  const doubtful = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`a@b${at}`, 0]));

  it.each([
    ['nested more than 16 levels deep', nested(16), 'properties_too_deep'],
    ['nested so in a JSON text', { a: JSON.stringify(nested(15)) }, 'properties_too_deep'],
    ['that hold more than 5000 values', many(5000), 'properties_too_many'],
    ['and names that may say who it is beside them', doubtful(2501), 'properties_too_many'],
    ['with a name of more than 200 characters', { a: [{ ['k'.repeat(201)]: 1 }] }, 'property_name_too_long'],
  ])('%s', (_case, properties, problem) => {
    expect(cleanProperties(properties, ONLINE)).toEqual({ ok: false, problem });
  });

  it.each([[nested(15)], [many(4999)], [doubtful(2500)], [{ ['k'.repeat(200)]: 1 }]])(
    'and taken at the limit',
    (properties) => {
      expect(cleanProperties(properties, ONLINE).ok).toBe(true);
    },
  );
});
