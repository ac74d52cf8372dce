// Settings of the demo shop: event definitions, surveys, banners, forms.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashKey } from '#pipelines/settings/callers.ts';
import type { ControlClient } from '#services/control_api/client.ts';
import type { IssuedKeyItem, KeyItem } from '#services/control_api/sites.ts';

/** The demo shop's pages belong to the demo site of the same name. */
const SITE = 'shop';
const KEY_FILE = 'shop_pages.key';
const CURRENCY = 'EUR';

/** What the pages fire by themselves: by a page, a click with a value, a click, and a form that is sent. */
const EVENT_DEFINITIONS = [
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
  await ensureItems(client, `/sites/${SITE}/event-definitions`, EVENT_DEFINITIONS);
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

const SURVEY = {
  id: 'after-purchase',
  name: 'After the purchase',
  targeting: { url_pattern: ['/thank-you'] },
  title: 'How was it?',
  questions: [
    {
      id: 'recommend',
      type: 'rating',
      scale: 11,
      text: 'How likely is it that you recommend us?',
      low_label: 'not at all',
      high_label: 'very',
      required: true,
      branches: [{ is: 'at_least', to: [9], go_to: 'found' }],
    },
    {
      id: 'missing',
      type: 'multiple',
      text: 'What should be better?',
      choices: [
        { id: 'choice', label: 'The choice' },
        { id: 'price', label: 'The prices' },
        { id: 'delivery', label: 'The delivery' },
      ],
      open_choice: true,
      next: 'end',
    },
    {
      id: 'found',
      type: 'single',
      text: 'Where did you hear of us?',
      choices: [
        { id: 'friends', label: 'From friends' },
        { id: 'search', label: 'From a search' },
      ],
    },
  ],
  thanks: { title: 'Thank you', text: 'We read every answer.' },
  theme: { accent: '#1f5f4a' },
};

const PROMO = {
  id: 'evening-lamps',
  name: 'Lamps in the evening',
  targeting: { url_pattern: ['/lookbook*'] },
  place: 'banner',
  title: '20 % off lamps this evening',
  code: 'EVENING20',
  button: { text: 'See the lamps', url: '/category/lamps' },
  creative: 'evening',
  slot: 'lookbook',
  theme: { accent: '#1f5f4a' },
};

const FORM = {
  id: 'quote',
  name: 'Quote',
  targeting: { url_pattern: ['/quote'] },
  place: 'inline',
  mount: '#quote-form',
  fields: [
    { name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' },
    {
      name: 'what',
      type: 'select',
      label: 'What for',
      store: 'keep',
      options: [
        { id: 'office', label: 'An office' },
        { id: 'home', label: 'A home' },
      ],
    },
    { name: 'message', type: 'textarea', label: 'Message' },
  ],
  button: 'Ask for a quote',
  consent_text: 'You may write to me about this.',
  consent_required: true,
  message: 'Thank you, we would write back if this were a shop.',
  theme: { accent: '#1f5f4a', width: '28rem' },
};

const ENGAGE_DEFINITIONS = [
  ['surveys', SURVEY],
  ['promos', PROMO],
  ['forms', FORM],
] as const;

/** Gives a site what the demo shop's pages show, where it is missing. */
async function ensureEngage(client: ControlClient, site: string): Promise<void> {
  for (const [collection, definition] of ENGAGE_DEFINITIONS) {
    await ensureItems(client, `/sites/${site}/${collection}`, [definition]);
  }
}

/** Makes each item of a collection of the control API that is not there yet; what is there stays as it is. */
async function ensureItems(client: ControlClient, collection: string, items: readonly { id: string }[]): Promise<void> {
  for (const item of items) {
    if ((await client.find(`${collection}/${item.id}`)) === undefined)
      await client.send('POST', collection, null, item);
  }
}
