import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashKey } from '#pipelines/settings/keys.ts';
import type { ControlClient } from '#services/control_api/client.ts';
import type { IssuedKeyItem, KeyItem } from '#services/control_api/key_shapes.ts';
import { ensureItems } from './ensure_items.ts';
import { ensureEngage } from './shop_engage.ts';

/** The demo shop's pages belong to the demo site of the same name. */
const SITE = 'shop';
const KEY_FILE = 'shop_pages.key';
const CURRENCY = 'EUR';

/** What the pages fire by themselves: by a page, a click with a value, a click, and a form that is sent. */
const DEFINITIONS = [
  {
    id: 'view-item',
    name: 'view_item',
    trigger: 'pageview',
    url_pattern: '/product/*',
    value_selector: '.product .price',
    field_selectors: { content_name: '.product h1' },
    properties: { currency: CURRENCY },
  },
  {
    id: 'add-to-cart',
    name: 'add_to_cart',
    trigger: 'click',
    selector: '[data-add-to-cart]',
    value_selector: '.product .price',
    field_selectors: { content_name: '.product h1' },
    properties: { currency: CURRENCY },
  },
  { id: 'begin-checkout', name: 'begin_checkout', trigger: 'click', selector: '.checkout-link' },
  {
    id: 'contact',
    name: 'contact_sent',
    trigger: 'submit',
    selector: 'form.contact',
    conversion_event: 'generate_lead',
    field_selectors: { email: 'form.contact [name=email]', subject: 'form.contact [name=subject]' },
  },
] as const;

/**
 * Gives the site `shop` what its pages fire and show where that is missing, and the pages a browser key that works from
 * their origin only. Returns the key; its secret is kept beside the data.
 */
export async function ensureShopPages(client: ControlClient, dataDir: string, origin: string): Promise<string> {
  await ensureItems(client, `/sites/${SITE}/event-definitions`, DEFINITIONS);
  await ensureEngage(client, SITE);
  return ensureKey(client, join(dataDir, KEY_FILE), origin);
}

async function ensureKey(client: ControlClient, path: string, origin: string): Promise<string> {
  const known = existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  const found = known === undefined ? undefined : await client.find<KeyItem>(`/keys/${hashKey(known)}`);
  const allowed_origins = [origin];
  if (known !== undefined && found?.revoked_at === null) {
    // The pages may have moved to another port since the last start.
    if (found.allowed_origins.join() !== origin) {
      await client.send('PATCH', `/keys/${hashKey(known)}`, found.version, { allowed_origins });
    }
    return known;
  }
  const wanted = { site_id: SITE, caller: 'browser', label: 'pages of the demo shop', allowed_origins };
  const issued = await client.send<IssuedKeyItem>('POST', '/keys', null, wanted);
  writeFileSync(path, `${issued.secret}\n`, { mode: 0o600 });
  return issued.secret;
}
