import type { ControlClient } from '#services/control_api/client.ts';

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
};

const DEFINITIONS = [['forms', FORM]] as const;

/** Gives a site what the demo shop's pages ask for, where it is missing. */
export async function ensureEngage(client: ControlClient, site: string): Promise<void> {
  for (const [collection, definition] of DEFINITIONS) {
    const path = `/sites/${site}/${collection}`;
    if ((await client.find(`${path}/${definition.id}`)) === undefined)
      await client.send('POST', path, null, definition);
  }
}
