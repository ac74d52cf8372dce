import { expect, test, vi } from 'vitest';
import {
  draftOfPicked,
  ownOrigins,
  type Picked,
  pickAddress,
  pickedText,
  readMessage,
  readPasted,
} from '#services/dashboard/src/pages/definitions/pick_dialog.tsx';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const SHOP = 'https://www.shop.example';
const CHOICE = {
  selector: '[data-testid="add"]',
  trigger: 'click',
  url: `${SHOP}/product/1`,
  tag: 'button',
  label: 'Add to cart',
  count: 12,
};
const PICKED: Picked = {
  selector: '[data-testid="add"]',
  trigger: 'click',
  path: '/product/1',
  tag: 'button',
  label: 'Add to cart',
  count: 12,
};
const isSelector = (text: string): boolean => !text.includes('{');
const read = (data: unknown): unknown => readMessage(data, 'n1', SHOP, isSelector);

test('a choice under the nonce is read, and that a page is ready', () => {
  expect(read({ svc_pick: 'n1', choice: CHOICE })).toEqual(PICKED);
  expect(read({ svc_pick: 'n1' })).toBe('ready');
});

test.each([[undefined], [null], ['n1'], [7], [{}], [{ svc_pick: 'n2', choice: CHOICE }], [{ svc_pick: ['n1'] }]])(
  '%j says nothing to us',
  (data) => {
    expect(read(data)).toBeNull();
  },
);

test.each<[string, unknown]>([
  ['selector', ''],
  ['selector', ' '],
  ['selector', 'a{color:red}'],
  ['selector', 'a'.repeat(1001)],
  ['selector', 'a\nb'],
  ['selector', ['a']],
  ['trigger', 'timer'],
  ['trigger', null],
  ['url', 'https://evil.example/product/1'],
  ['url', 'javascript:alert(1)'],
  ['url', `${SHOP}/${'x'.repeat(1001)}`],
  ['tag', '<img src=x onerror=alert(1)>'],
  ['label', 'x'.repeat(81)],
  ['label', { toString: 'x' }],
  ['count', -1],
  ['count', '12'],
  ['count', Number.NaN],
])('a choice with the %s %j is none', (name, value) => {
  expect(read({ svc_pick: 'n1', choice: { ...CHOICE, [name]: value } })).toBe('malformed');
});

test('nothing else of a choice comes along', () => {
  expect(
    read({ svc_pick: 'n1', choice: { ...CHOICE, properties: { a: 1 }, url: `${SHOP}/product/1?email=jane#x` } }),
  ).toEqual(PICKED);
});

test('what was copied on the page is read, a bare selector too', () => {
  expect(readPasted(JSON.stringify(CHOICE), `${SHOP}/`, isSelector)).toEqual(PICKED);
  expect(readPasted(' .buy ', `${SHOP}/cart?x=1`, isSelector)).toEqual({
    selector: '.buy',
    trigger: 'click',
    path: '/cart',
    tag: '',
    label: '',
    count: null,
  });
  expect(readPasted('a{', SHOP, isSelector)).toBeNull();
  expect(readPasted('', SHOP, isSelector)).toBeNull();
  expect(readPasted(JSON.stringify(CHOICE), 'https://other.example/', isSelector)).toBeNull();
});

test.each([
  [`${SHOP}/cart?x=1`, `${SHOP}/cart?x=1#svc-pick=n1`],
  [`${SHOP}/#/product/1`, `${SHOP}/#/product/1?svc-pick=n1`],
  [`${SHOP}/#/product?id=1`, `${SHOP}/#/product?id=1&svc-pick=n1`],
])('%s is opened as %s', (text, address) => {
  expect(pickAddress(text, 'n1')?.href).toBe(address);
});

test.each(['', 'shop.example', 'javascript:alert(1)', 'data:text/html,x', 'https://a:b@shop.example/', 'file:///etc'])(
  '%j is no page',
  (text) => {
    expect(pickAddress(text, 'n1')).toBeNull();
  },
);

test('pages are those of active browser keys and of verified domains', () => {
  const key = { caller: 'browser', state: 'active', allowed_origins: [SHOP] } as const;
  const keys = [
    key,
    { ...key, state: 'revoked', allowed_origins: ['https://old.example'] } as const,
    { ...key, caller: 'server', allowed_origins: [] } as const,
    { ...key, allowed_origins: [] },
  ];
  const domains = [
    { domain: 't.shop.example', state: 'verified' },
    { domain: 't.claimed.example', state: 'pending' },
  ] as const;
  expect(ownOrigins(keys, domains)).toEqual([SHOP, 'https://shop.example', 'https://*.shop.example']);
});

test('the form begins with what was chosen, named by its label', () => {
  expect(draftOfPicked(PICKED)).toEqual({
    id: 'add-to-cart',
    name: 'add_to_cart',
    trigger: 'click',
    selector: '[data-testid="add"]',
    urlPattern: '/product/1',
  });
  expect(draftOfPicked({ ...PICKED, label: 'Köpa <b>' }).id).toBe('k-pa-b');
  expect(draftOfPicked({ ...PICKED, label: '' }).id).toBe('');
  expect(pickedText(PICKED)).toBe(
    'Chosen: button “Add to cart” on /product/1; the selector finds 12 there. Review it, then save.',
  );
});
