import { describe, expect, it } from 'vitest';
import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { readSettings, secretNames } from '#pipelines/delivery/setting_fields.ts';
import { WEBHOOK_SECRET } from './harness.ts';

describe("a destination's settings", () => {
  it('mark their secrets', () => {
    expect(secretNames(meta.schema)).toEqual(['access_token']);
    expect(secretNames(webhook.schema)).toEqual(['secret', 'secret_previous']);
  });

  it('take defaults for what is absent or empty', () => {
    const read = readSettings(meta, { pixel_id: '1234567890', version: '' }, { access_token: 't' });
    expect(read).toEqual({
      kind: 'settings',
      settings: {
        pixel_id: '1234567890',
        access_token: 't',
        version: 'v25.0',
        data_processing: 'unset',
        base_url: 'https://graph.facebook.com',
      },
    });
  });

  it('leave out fields they do not know', () => {
    const read = readSettings(meta, { pixel_id: '1234567890', other: 'x' }, { access_token: 't', more: 'y' });
    expect(read.kind === 'settings' && Object.keys(read.settings)).not.toContain('other');
  });

  it('take no secret from what is stored in clear', () => {
    const read = readSettings(meta, { pixel_id: '1234567890', access_token: 'in clear' }, {});
    expect(read).toEqual({ kind: 'invalid', fields: ['access_token'] });
  });

  it.each([
    [{ url: 'https://x.example/', batch_events_max: '0' }, 'batch_events_max'],
    [{ url: 'https://x.example/', batch_events_max: '101' }, 'batch_events_max'],
    [{ url: 'ftp://x.example/' }, 'url'],
    [{ url: 'https://x.example/', include_client_ip: 'maybe' }, 'include_client_ip'],
    [{}, 'url'],
  ])('say which field of %j is at fault: %s', (settings, field) =>
    expect(readSettings(webhook, settings as Record<string, string>, { secret: WEBHOOK_SECRET })).toEqual({
      kind: 'invalid',
      fields: [field],
    }),
  );

  it.each([
    ['[{"pixel_id":"12345","url_pattern":"/fr/*"}]', 'settings'],
    ['[]', 'settings'],
    ['[{"pixel_id":"x","url_pattern":"/"}]', 'invalid'],
    ['no JSON', 'invalid'],
  ])("check Meta's route_pixels: %s is %s", (route_pixels, kind) =>
    expect(readSettings(meta, { pixel_id: '1234567890', route_pixels }, { access_token: 't' }).kind).toBe(kind),
  );

  it.each(['whsec_short', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', `whsec_${'A'.repeat(200)}`])(
    'refuse %s as a secret',
    (secret) => expect(readSettings(webhook, { url: 'https://x.example/' }, { secret }).kind).toBe('invalid'),
  );
});
