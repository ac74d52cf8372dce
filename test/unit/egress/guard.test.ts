import { describe, expect, it } from 'vitest';
import { isUrlAllowed } from '#infra/egress/ssrf_guard.ts';
import { checkAll } from '#test/harness/check_all.ts';

const STRICT = { allowHttp: false, allowLoopback: false };
const LOCAL = { allowHttp: true, allowLoopback: true };

describe('a URL from settings', () => {
  it.each([
    'https://hooks.example/in',
    'https://hooks.example:8443/in?x=1',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
  ])('%s may be called', (url) => expect(isUrlAllowed(new URL(url), STRICT)).toBe(true));

  it('may not lead inside, or be anything but HTTPS', () =>
    checkAll(
      [
        'http://hooks.example/in',
        'ftp://hooks.example/in',
        'file:///etc/passwd',
        'https://user:pass@hooks.example/',
        'https://localhost/',
        'https://LOCALHOST./',
        'https://a.localhost/',
        'https://intranet/',
        'https://printer.local/',
        'https://db.internal/',
        'https://127.0.0.1/',
        'https://127.1/',
        'https://2130706433/',
        'https://0x7f000001/',
        'https://0x7f.1/',
        'https://0177.0.0.1/',
        'https://017700000001/',
        'https://0xa9fea9fe/latest/meta-data/',
        'https://2852039166/latest/meta-data/',
        'https://10.1/',
        'https://127.0.0.1./',
        'https://0/',
        'https://10.0.0.1/',
        'https://3232235777/',
        'https://169.254.169.254/latest/meta-data/',
        'https://100.64.0.1/',
        'https://[::1]/',
        'https://[::ffff:10.0.0.1]/',
        'https://[::ffff:7f00:1]/',
        'https://[fd00:ec2::254]/',
        'https://[fe80::1]/',
        'https://[64:ff9b::a9fe:a9fe]/',
        'https://[64:ff9b:1::a00:1]/',
        'https://[::ffff:169.254.169.254]/',
        'https://①②⑦.⓪.⓪.①/',
      ],
      (url) => expect(isUrlAllowed(new URL(url), STRICT)).toBe(false),
    ));

  it('under the policy for local development may be what that allows, and nothing else', () =>
    checkAll(
      [
        ['http://127.0.0.1:8080/', true],
        ['https://[::1]/', true],
        ['http://localhost:8080/', true],
        ['http://intranet/', false],
        ['http://10.0.0.1/', false],
        ['http://[::ffff:127.0.0.1]/', false],
        ['http://169.254.169.254/', false],
      ],
      ([url, expected]) => expect(isUrlAllowed(new URL(url), LOCAL)).toBe(expected),
    ));
});
