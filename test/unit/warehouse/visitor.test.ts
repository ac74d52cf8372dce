import { expect, test } from 'vitest';
import { HTTP_LIBRARIES } from '#pipelines/intake/call.ts';
import { cutAddress } from '#pipelines/privacy/ip_addresses.ts';
import { deviceOf, languageOf, placeIn, screenClassOf, withHint } from '#pipelines/warehouse/visitor.ts';

const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const BLINK = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const IPHONE = `Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) ${WEBKIT}`;
const IPAD_AS_MAC = `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/18.6 Safari/605.1.15`;

test.each([
  [
    'a computer',
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${BLINK} Chrome/142.0.0.0 Safari/537.36`,
    'Chrome 142 Windows 10 desktop',
  ],
  [
    'Edge, which is not Chrome',
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${BLINK} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`,
    'Edge 142 Windows 10 desktop',
  ],
  [
    'a reduced user agent of a telephone',
    `Mozilla/5.0 (Linux; Android 10; K) ${BLINK} Chrome/142.0.0.0 Mobile Safari/537.36`,
    'Chrome 142 Android 10 mobile',
  ],
  [
    'a reduced user agent of a tablet',
    `Mozilla/5.0 (Linux; Android 10; K) ${BLINK} Chrome/142.0.0.0 Safari/537.36`,
    'Chrome 142 Android 10 tablet',
  ],
  [
    'a telephone that the library takes for a tablet',
    `Mozilla/5.0 (Linux; Android 10; K) ${BLINK} Version/4.0 Chrome/125.0.0.0 Mobile DuckDuckGo/5 Safari/537.36`,
    'DuckDuckGo 5 Android 10 mobile',
  ],
  ['Safari of a telephone', `${IPHONE} Version/17.5 Mobile/15E148 Safari/604.1`, 'Safari 17.5 iOS 17.5 mobile'],
  ['Chrome of iOS', `${IPHONE} CriOS/142.0.7444.77 Mobile/15E148 Safari/604.1`, 'Chrome 142 iOS 17.5 mobile'],
  [
    'an iPad that says so',
    `Mozilla/5.0 (iPad; CPU OS 12_1 like Mac OS X) ${WEBKIT} Version/12.0 Mobile/15E148 Safari/604.1`,
    'Safari 12 iOS 12.1 tablet',
  ],
  ['an iPad that poses as a computer', IPAD_AS_MAC, 'Safari 18.6 macOS 10.15 desktop'],
  [
    'an app on such an iPad',
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_4) ${WEBKIT} Mobile/15E148`,
    'WebKit 605.1 iOS  tablet',
  ],
  ['the app of Facebook', `${IPHONE} Mobile/21F90 [FBAN/FBIOS;FBAV/466.0.0.47.103;FBDV/iPhone14,5]`, 'Facebook 466'],
  ['the app of Instagram', `${IPHONE} Mobile/21F90 Instagram 334.0.0.30.95 (iPhone14,5; iOS 17_5_1)`, 'Instagram 334'],
  [
    'the app of TikTok',
    `Mozilla/5.0 (Linux; Android 13; SM-A536B; wv) ${BLINK} Version/4.0 Chrome/125.0.6422.113 Mobile Safari/537.36 trill_340203`,
    'TikTok  Android 13 mobile',
  ],
  [
    'a television',
    `Mozilla/5.0 (Web0S; Linux/SmartTV) ${BLINK} Chrome/94.0.4606.128 Safari/537.36 WebAppManager`,
    'Chrome 94 webOS  tv',
  ],
  [
    'a console',
    `Mozilla/5.0 (PlayStation; PlayStation 5/6.00) ${WEBKIT} Version/15.4 Safari/605.1.15`,
    'Safari 15.4 PlayStation 5 console',
  ],
  [
    'versions that nobody has',
    `Mozilla/5.0 (X11; Linux x86_64) ${BLINK} Chrome/99999999999.1 Safari/537.36`,
    'Chrome  Linux  desktop',
  ],
])('%s is told by its user agent', (_what, userAgent, told) => {
  const { browser, browser_version, os, os_version, device_type } = deviceOf(userAgent);
  expect([browser, browser_version, os, os_version, device_type].join(' ').slice(0, told.length)).toBe(told);
});

test('what the script of a page can see tells an iPad, and nothing else', () => {
  const mac = deviceOf(IPAD_AS_MAC);
  expect(withHint(mac, 'Tablet')).toMatchObject({
    browser: 'Safari',
    os: 'iOS',
    os_version: '',
    device_type: 'tablet',
  });
  expect([withHint(mac, 'Desktop'), withHint(mac, '')]).toEqual([mac, mac]);
  const phone = deviceOf(`${IPHONE} Version/17.5 Mobile/15E148 Safari/604.1`);
  expect(withHint(phone, 'Tablet')).toEqual(phone);
});

test('no library of a server is a browser', () => {
  expect(HTTP_LIBRARIES.filter((userAgent) => deviceOf(userAgent).browser !== '')).toEqual([]);
});

test.each([
  [{ country_code: 'BE', state1: 'Brussels', city: 'Brussels (Brussels Capital)' }, ['BE', 'Brussels', 'Brussels']],
  [
    {
      country: { iso_code: 'BE', names: { en: 'Belgium' } },
      subdivisions: [{ iso_code: 'VLG', names: { en: 'Flanders', nl: 'Vlaanderen' } }, { names: { en: 'Antwerp' } }],
      city: { names: { en: 'Mechelen' } },
    },
    ['BE', 'Flanders', 'Mechelen'],
  ],
  [{ country: 'US', region: 'Texas', city: 'Paris' }, ['US', 'Texas', 'Paris']],
  [{ country_code: 'NL' }, ['NL', '', '']],
])('records of every usual database are read: %j', (record, [country, region, city]) => {
  expect(placeIn(record)).toEqual({ country, region, city });
});

test.each([
  null,
  {},
  { country_code: '' },
  { country_code: 'Belgium' },
  { country: 7 },
  { registered_country: { iso_code: 'US' } },
])('a record without a country is no place: %j', (record) => expect(placeIn(record)).toBe(null));

test.each([
  ['nl-BE', 'nl-BE'],
  ['EN_us', 'en-US'],
  ['zh-Hant-TW', 'zh-TW'],
  ['es-419', 'es-419'],
  ['de', 'de'],
  ['fr-FR,fr;q=0.9', 'fr-FR'],
  ['English', ''],
  ['n', ''],
  ['', ''],
])('the language %j is %j', (said, language) => expect(languageOf(said)).toBe(language));

test.each([
  ['390', 'small'],
  ['576', 'medium'],
  ['1280x720', 'large'],
  ['1440', 'very large'],
  ['1920.5', 'very large'],
  ['0', ''],
  ['-5', ''],
  ['wide', ''],
  ['999999', ''],
])('a screen of %j is %j', (said, screen) => expect(screenClassOf(said)).toBe(screen));

test.each([
  ['193.191.12.34', '193.191.12.0'],
  ['::ffff:193.191.12.34', '193.191.12.0'],
  ['2a02:a03f:1:2:3:4:5:6', '2a02:a03f:1::'],
  ['somebody', ''],
])('of the address %s a cut one is %j', (address, cut) => expect(cutAddress(address)).toBe(cut));
