import { describe, expect, it } from 'vitest';
import { isLibraryUserAgent } from '#pipelines/delivery/matching.ts';
import { HTTP_LIBRARIES } from '#pipelines/intake/call.ts';
import { checkAll } from '#test/harness/check_all.ts';

/** Of the list of what servers and apps call themselves, those that run on a shopper's own device. */
const ON_DEVICES = /CFNetwork|iPhone|Dalvik/;

describe('the name of a library', () => {
  it('is recognised', () =>
    checkAll(
      [
        ...HTTP_LIBRARIES.filter((name) => !ON_DEVICES.test(name)),
        'node-fetch',
        'axios/0.21.1',
        'Node.js/22',
        'Python/3.12 httpx/0.27',
        'my-shop-node/1.4',
        'Acme-Http-Client/3.0',
        'segment-analytics-node/3',
        'okhttp/5.0.0-alpha.14',
        'Bun/1.2',
        'Deno/2.0',
        'facebook-nodejs-sdk-node/1',
      ],
      (userAgent) => expect(isLibraryUserAgent(userAgent)).toBe(true),
    ));

  it('is not that of a browser or an app', () =>
    checkAll(
      [
        ...HTTP_LIBRARIES.filter((name) => ON_DEVICES.test(name)),
        'Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0',
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 [FBAN/FBIOS]',
        'Opera/9.80 (Windows NT 6.1) Presto/2.12',
        'Agent/1.0',
        'shop-backend/2.1',
        'NodeShop/3.1 (Android 14)',
        'Gotham/1.0',
        'Makeup/4.2',
        'JavaHouse/1.0',
        'AcmeShop/7.2.1 (Android; 14) okhttp/4.12.0',
      ],
      (userAgent) => expect(isLibraryUserAgent(userAgent)).toBe(false),
    ));
});
