/** What may be a phone number: at least seven digits, and nothing that numbers are not written with. */
const PHONE = /^\+?(?:[\s()./-]*\d){7,15}$/;

/** Whether a fact leads to the people who have it. What may be an e-mail address or a phone number stays out of the address bar. */
export function isSearched(name: string, text: string): boolean {
  if (/@|%40/.test(text)) return false;
  // Shops number their orders, some with as many digits.
  return name === 'Order id' || (name === 'Distinct id' && !PHONE.test(text.trim()));
}
