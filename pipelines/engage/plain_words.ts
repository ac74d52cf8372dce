import { wordsIn } from './words_in.ts';

const NAMES = ['failed', 'later', 'unknown', 'links', 'notNow'] as const;

/** What the page after a plain form says where it was not taken, by its name. */
export type PlainWords = Readonly<Record<(typeof NAMES)[number], string>>;

/** In the order of NAMES. */
const WORDS = {
  en: 'The form could not be sent|Please try again in a few minutes|This form is no longer there|Please leave out links|Please try again later',
  de: 'Das Formular konnte nicht gesendet werden|Bitte versuchen Sie es in einigen Minuten noch einmal|Dieses Formular gibt es nicht mehr|Bitte lassen Sie Links weg|Bitte versuchen Sie es später noch einmal',
  fr: 'Le formulaire n’a pas pu être envoyé|Veuillez réessayer dans quelques minutes|Ce formulaire n’existe plus|Veuillez ne pas mettre de liens|Veuillez réessayer plus tard',
  nl: 'Het formulier kon niet worden verstuurd|Probeer het over enkele minuten opnieuw|Dit formulier bestaat niet meer|Laat links weg|Probeer het later opnieuw',
  es: 'No se pudo enviar el formulario|Vuelva a intentarlo dentro de unos minutos|Este formulario ya no existe|No incluya enlaces|Vuelva a intentarlo más adelante',
  it: 'Non è stato possibile inviare il modulo|Riprovi tra qualche minuto|Questo modulo non esiste più|Non inserisca link|Riprovi più tardi',
  pt: 'Não foi possível enviar o formulário|Tente novamente dentro de alguns minutos|Este formulário já não existe|Não inclua ligações|Tente novamente mais tarde',
  pl: 'Nie udało się wysłać formularza|Spróbuj ponownie za kilka minut|Ten formularz już nie istnieje|Prosimy nie podawać linków|Spróbuj ponownie później',
  ar: 'تعذر إرسال النموذج|يرجى المحاولة مرة أخرى بعد بضع دقائق|هذا النموذج لم يعد موجودًا|يرجى عدم إدراج روابط|يرجى المحاولة مرة أخرى لاحقًا',
} as const;

/** The words in a language, else in English. */
export function plainWords(locale: string): PlainWords {
  return wordsIn(WORDS, NAMES, locale.toLowerCase());
}

/** The first language of an Accept-Language header that the words are in, else English: the page says nothing else. */
export function plainLanguage(accepted: string | undefined): string {
  const asked = (accepted ?? '').split(',', 20).map((one) => one.split(/[;-]/, 1)[0]?.trim().toLowerCase() ?? '');
  return asked.find((language) => Object.hasOwn(WORDS, language)) ?? 'en';
}
