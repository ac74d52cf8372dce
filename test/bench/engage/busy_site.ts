/** What a busy site may have: of these a visitor of the cart is shown five. */
export const DEFINITIONS: readonly ['surveys' | 'promos' | 'forms', object][] = [
  [
    'surveys',
    {
      id: 'after-purchase',
      name: 'After a purchase',
      targeting: { url_pattern: ['/thanks*'] },
      questions: [{ id: 'score', type: 'rating', scale: 11, text: 'How likely is it that you recommend us?' }],
    },
  ],
  [
    'surveys',
    {
      id: 'cart',
      name: 'Cart',
      targeting: { url_pattern: ['/cart*'], device: ['desktop', 'mobile'] },
      frequency: { max_times: 3, every_days: 1 },
      questions: [
        { id: 'score', type: 'rating', scale: 5, text: 'How do you like the cart?' },
        { id: 'why', type: 'open', text: 'Why?' },
      ],
    },
  ],
  [
    'surveys',
    { id: 'half', name: 'Half', share_percent: 50, questions: [{ id: 'a', type: 'open', text: 'What is missing?' }] },
  ],
  ['promos', { id: 'winter', name: 'Winter', title: '20% off all jackets', code: 'WINTER20', priority: 80 }],
  [
    'promos',
    {
      id: 'bought-before',
      name: 'Bought before',
      title: 'Welcome back',
      targeting: { audience: [{ event: 'purchase', times: 1, within_days: 90 }] },
    },
  ],
  ['promos', { id: 'german', name: 'German', title: 'Versand frei', targeting: { locale: ['de'] } }],
  ['promos', { id: 'blog', name: 'Blog', title: 'Read on', targeting: { url_pattern: ['/blog/*'] } }],
  ['promos', { id: 'ads', name: 'Ads', title: 'For you', consent_needed: 'ads' }],
  [
    'forms',
    {
      id: 'quote',
      name: 'Quote',
      title: 'Ask for a price',
      fields: [
        { name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' },
        { name: 'message', type: 'textarea', label: 'Message' },
      ],
    },
  ],
  [
    'forms',
    { id: 'newsletter', name: 'Newsletter', fields: [{ name: 'email', type: 'email', label: 'E-mail', map: 'email' }] },
  ],
];
