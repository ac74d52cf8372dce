import { expect, test } from 'vitest';
import { renewedCookie, visitorOf } from '#pipelines/tag/http.ts';

const ID = '0198b2f0-7c11-7abc-8def-0123456789ab';
const OTHER = '0198b2f0-7c11-7abc-8def-0123456789ac';

test.each([
  [`svc_did=${ID}`, ID],
  [`a=1; svc_did=${ID}; b=2`, ID],
  [`svc_did=${ID};svc_did=${ID}`, ID],
])('%s names the visitor', (header, visitor) => {
  expect(visitorOf(header)).toBe(visitor);
});

test.each([
  undefined,
  '',
  'a=1',
  `xsvc_did=${ID}`,
  'svc_did=',
  'svc_did=jane@example.com',
  `svc_did=${ID.toUpperCase()}`,
  `svc_did=${ID}x`,
  `svc_did="${ID}"`,
  `svc_did=${ID}; svc_did=${OTHER}`,
])('%s names nobody', (header) => {
  expect(visitorOf(header)).toBeNull();
});

test('the cookie is renewed for 13 months on the domain that was registered', () => {
  expect(renewedCookie(ID, 't.shop.co.uk')).toBe(
    `svc_did=${ID}; Max-Age=34128000; Path=/; SameSite=Lax; Secure; Domain=shop.co.uk`,
  );
});

test.each(['myshopify.com', 'x.eu-west-1.amazonaws.com'])('no cookie is set on %s, which strangers share', (host) => {
  expect(renewedCookie(ID, host)).toBeNull();
});
