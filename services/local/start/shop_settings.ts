// Settings of the demo shop: event definitions, surveys, banners, forms.

const CURRENCY = 'EUR';

/** What the pages fire by themselves: by a page, a click with a value, a click, and a form that is sent. */
export const EVENT_DEFINITIONS = [
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

/** What the pages show, by collection of the control API. */
export const ENGAGE_DEFINITIONS = [
  ['surveys', SURVEY],
  ['promos', PROMO],
  ['forms', FORM],
] as const;
