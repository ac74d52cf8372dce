/** The least that a definition of each kind needs. */
export const SURVEY = {
  id: 'nps',
  name: 'NPS',
  questions: [{ id: 'score', type: 'rating', scale: 11, text: 'How likely is it?' }],
};
export const PROMO = { id: 'sale', name: 'Sale', title: '20% off' };
export const FORM = { id: 'quote', name: 'Quote', fields: [{ name: 'email', type: 'email', label: 'E-mail' }] };

/** A question that is answered by writing. */
export const open = (id: string, more: object = {}): object => ({ id, type: 'open', text: 'Why?', ...more });
