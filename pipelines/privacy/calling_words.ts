import { isEscapeLetter } from './literal_escape.ts';

const MARK = /\p{M}/gu;
const NOT_ASCII = /[^\0-\x7f]/;
const LETTER = /^\p{L}|\p{M}$/u;

/** Words behind which digits are a phone number, in the languages of most shops. */
const SPACED = wordsOf(
  // English, and what several languages share.
  'tel telephone phone phones fon mobile mob mobil cell cellphone cellular gsm call dial sms text whatsapp viber fax hotline',
  // German, Dutch, the Nordic languages.
  'telefon telefonnummer tlf tlfn handy handynummer mobilnummer rufnummer anrufen telefoon telefoonnummer mobiel bellen puhelin puh matkapuhelin puhelinnumero sími',
  // Romance languages.
  'teléfono telf telefone telemóvel celular móvil cellulare cellulaire portable téléphone appelez appeler chiamare chiamami llamar llámame ligue ligar',
  // Slavic and Baltic languages, Hungarian, Greek, Turkish.
  'komórka telefonu zadzwoń volat mobilní telefonszám mobilszám telefonas telefons telefoni cep',
  'телефон тел моб мобильный мобільний звоните позвоните τηλ τηλέφωνο κινητό',
  // South and east Asia, the Middle East.
  'फोन मोबाइल هاتف الهاتف جوال الجوال موبايل الموبايل محمول المحمول خلوي الخلوي تلفون تليفون واتساب اتصل טלפון נייד',
  'تلفن همراه تماس موبایل گوشی فون موبائل ফোন মোবাইল தொலைபேசி கைபேசி மொபைல் ఫోన్ మొబైల్ ಫೋನ್ ಮೊಬೈಲ್ ഫോൺ മൊബൈൽ ફોન મોબાઇલ ਫ਼ੋਨ ਮੋਬਾਈਲ දුරකථන ජංගම',
  'telp hubungi sđt sdt thoại simu selfoon telepono bimbit утас телефони տելեֆոն հեռախոս հեռ ტელეფონი ტელ მობილური ስልክ',
);
/** Of scripts that put no space between words. */
const UNSPACED = [
  ...wordsOf(
    '電話 電話番号 携帯 ケータイ 电话 手机 手机号 手機 전화 전화번호 휴대폰 휴대전화 핸드폰 연락처 โทร โทรศัพท์ เบอร์ มือถือ ໂທ ໂທລະສັບ ເບີ ទូរស័ព្ទ ទូរសព្ទ ဖုန်း 行動電話',
  ),
];
/** What such languages add to the word before the number. */
const PARTICLE = /[は是은는]$/;
/** What may stand between such a word and the number. */
const FILLERS = wordsOf(
  'رقم شماره نمبر नंबर नम्बर নম্বর no nr num number numero número nummer номер me us at on is ist es est to unter under au al är er var',
);
const FILLERS_MAX = 3;
const GAP_CHARACTERS_MAX = 5;
/** Those of them that also name campaigns, files and networks: `mobile_20261120`, `/cell/20261120/`. */
const AMBIGUOUS = wordsOf('mobile mob mobil cell cellular gsm call dial text sms portable movil celular');
const SAID = /[\s:.]/;
/** A mobile in Turkey, where numbers have ten digits, and in Brazil a postcode. */
const MOBILE_OR_POSTCODE = 'cep';
const MOBILE_DIGITS_MIN = 10;
const WORD_CHARACTERS_MAX = 24;

/** Whether what stands before a number of so many digits says that it is one to call. */
export function isCalled(text: string, at: number, digits: number): boolean {
  let end = at;
  for (let fillers = 0; fillers <= FILLERS_MAX; fillers += 1) {
    end = gapStart(text, end);
    const start = wordStart(text, end);
    if (start === end) return false;
    const word = plain(text.slice(start, end));
    if (SPACED.has(word)) return isMeant(word, text.slice(end, at), digits);
    if (endsUnspaced(word)) return true;
    if (!FILLERS.has(word)) return false;
    end = start;
  }
  return false;
}

function isMeant(word: string, gap: string, digits: number): boolean {
  if (word === MOBILE_OR_POSTCODE) return digits >= MOBILE_DIGITS_MIN;
  return !AMBIGUOUS.has(word) || SAID.test(gap);
}

function endsUnspaced(word: string): boolean {
  if (!NOT_ASCII.test(word)) return false;
  const bare = word.replace(PARTICLE, '');
  return UNSPACED.some((known) => bare.endsWith(known));
}

function gapStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < GAP_CHARACTERS_MAX && !isWordCharacter(text, start - 1)) start -= 1;
  return start;
}

function wordStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < WORD_CHARACTERS_MAX && isLetter(text, start - 1)) start -= 1;
  return start;
}

function isWordCharacter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= 0x30 && code <= 0x39) || (isLetter(text, at) && !isEscapeLetter(text, at));
}

function isLetter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 128) return (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  return LETTER.test(text.charAt(at));
}

function wordsOf(...lists: readonly string[]): ReadonlySet<string> {
  return new Set(lists.flatMap((list) => list.split(' ').map(plain)));
}

/** Lower case, without accents. */
function plain(word: string): string {
  const lower = word.toLowerCase();
  return NOT_ASCII.test(lower) ? lower.normalize('NFD').replace(MARK, '').normalize('NFC') : lower;
}
