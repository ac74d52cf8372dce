/**
 * Numbers that the regulators keep out of use for drama and examples and that libphonenumber nonetheless holds valid:
 * 020 7946 0XXX, 0113, 0121, 0131, 0141 and 0161 496 0XXX (Ofcom), (0)30 23125 XXX (Bundesnetzagentur), 01 99 00 XX XX (ARCEP).
 */
const BLOCKS = [
  ...['207946', '113496', '121496', '131496', '141496', '161496'].map((area) => ({ prefix: `+44${area}0`, digits: 3 })),
  { prefix: '+493023125', digits: 3 },
  { prefix: '+3319900', digits: 4 },
].map(({ prefix, digits }) => ({ prefix, digits, size: 10 ** digits }));

/** How many different numbers there are. */
export const PHONE_COUNT = BLOCKS.reduce((sum, block) => sum + block.size, 0);

/** Coprime to PHONE_COUNT (a test holds it), so that stepping by it visits every number once before any repeats. */
export const PHONE_STRIDE = 7919;

/** The `index`-th fictitious number in E.164; counting goes round at the end. */
export function phoneAt(index: number): string {
  let left = index % PHONE_COUNT;
  for (const block of BLOCKS) {
    if (left < block.size) return block.prefix + String(left).padStart(block.digits, '0');
    left -= block.size;
  }
  throw new RangeError('phone index outside the blocks');
}

/** The same number as people type it: 0 is E.164, the others differ in spaces and punctuation only. */
export function spellPhone(phone: string, style: number): string {
  if (style % 4 === 1) return phone.replace(/^(\+\d{2})(\d{3})(\d{3})/, '$1 $2 $3 ');
  if (style % 4 === 2) return phone.replace(/^(\+\d{2})(\d{3})(\d{3})/, '$1-$2-$3-');
  if (style % 4 === 3) return ` ${phone.replace(/(\d{4})$/, ' $1')} `;
  return phone;
}
