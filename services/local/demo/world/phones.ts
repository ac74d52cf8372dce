/**
 * Numbers that the regulators keep out of use for drama and examples and that libphonenumber nonetheless holds valid:
 * 555-01XX in every US area code (NANPA), 020 7946 0XXX, 0113, 0121, 0131, 0141 and 0161 496 0XXX (Ofcom), (0)30 23125
 * XXX (Bundesnetzagentur), 01 99 00 XX XX (ARCEP), 070-174 06 XX (PTS).
 */
interface Block {
  prefix: string;
  digits: number;
  first: number;
  size: number;
}

const US_AREA_CODES =
  '201 202 203 205 206 207 208 209 210 212 213 214 215 216 217 218 219 224 225 228 229 231 234 239 240 248 251 252 253 254 ' +
  '256 260 262 267 269 270 276 281 301 302 303 304 305 307 308 309 310 312 313 314 315 316 317 318 319 320 321 323 325 330 ' +
  '334 336 337 347 351 352 360 361 386 401 402 404 405 406 407 408 409 410 412 413 414 415 417 419 423 424 425 432 434 435 ' +
  '440 443 469 478 479 480 484 501 502 503 504 505 507 508 509 510 512 513 515 516 517 518 520 530 540 541 551 559 561 562 ' +
  '563 567 570 571 573 574 580 585 586 601 602 603 605 606 607 608 609 610 612 614 615 616 617 618 619 620 623 626 630 631 ' +
  '636 641 646 650 651 660 661 662 678 682 701 702 703 704 706 707 708 712 713 714 715 716 717 718 719 720 724 727 731 732 ' +
  '734 740 757 760 763 765 770 772 773 774 775 781 785 786 801 802 803 804 805 806 808 810 812 813 814 815 816 817 818 828 ' +
  '830 831 832 843 845 847 850 856 857 858 859 860 862 863 864 865 870 901 903 904 906 907 908 909 910 912 913 914 915 916';

const BLOCKS: readonly Block[] = [
  ...US_AREA_CODES.split(' ').map((code) => ({ prefix: `+1${code}5550`, digits: 3, first: 100, size: 100 })),
  ...['20 7946', '113 496', '121 496', '131 496', '141 496', '161 496'].map((area) => ({
    prefix: `+44${area.replace(' ', '')}0`,
    digits: 3,
    first: 0,
    size: 1000,
  })),
  { prefix: '+493023125', digits: 3, first: 0, size: 1000 },
  { prefix: '+3319900', digits: 4, first: 0, size: 10_000 },
  { prefix: '+467017406', digits: 2, first: 5, size: 95 },
];

/** How many different numbers there are. */
export const PHONE_COUNT = BLOCKS.reduce((sum, block) => sum + block.size, 0);

/** Coprime to PHONE_COUNT (a test holds it), so that stepping by it visits every number once before any repeats. */
export const PHONE_STRIDE = 7919;

/** The `index`-th fictitious number in E.164; counting goes round at the end. */
export function phoneAt(index: number): string {
  let left = index % PHONE_COUNT;
  for (const block of BLOCKS) {
    if (left < block.size) return block.prefix + String(block.first + left).padStart(block.digits, '0');
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
