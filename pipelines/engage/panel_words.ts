import { wordsIn } from './words_in.ts';

const NAMES = [
  'close',
  'next',
  'send',
  'sending',
  'other',
  'choose',
  'copy',
  'copied',
  'thanks',
  'later',
  'check',
  'failed',
] as const;

/** What a panel says by itself, by its name. */
export type PanelWords = Readonly<Record<(typeof NAMES)[number], string>>;

/** In the order of NAMES. */
const WORDS = {
  en: 'Close|Next|Send|Sending…|Other|Please choose an answer|Copy|Copied|Thank you|It is sent as soon as you are online again|Please check this|It could not be sent',
  de: 'Schließen|Weiter|Senden|Wird gesendet…|Andere|Bitte wählen Sie eine Antwort|Kopieren|Kopiert|Vielen Dank|Wird gesendet, sobald Sie wieder online sind|Bitte prüfen Sie dies|Konnte nicht gesendet werden',
  fr: 'Fermer|Suivant|Envoyer|Envoi en cours…|Autre|Veuillez choisir une réponse|Copier|Copié|Merci|Sera envoyé dès que vous serez de nouveau en ligne|Veuillez vérifier|Échec de l’envoi',
  nl: 'Sluiten|Volgende|Versturen|Wordt verstuurd…|Anders|Kies een antwoord|Kopiëren|Gekopieerd|Bedankt|Wordt verstuurd zodra u weer online bent|Controleer dit|Versturen is niet gelukt',
  es: 'Cerrar|Siguiente|Enviar|Enviando…|Otro|Elija una respuesta|Copiar|Copiado|Gracias|Se enviará cuando vuelva a tener conexión|Revise esto|No se pudo enviar',
  it: 'Chiudi|Avanti|Invia|Invio in corso…|Altro|Scegli una risposta|Copia|Copiato|Grazie|Verrà inviato appena sarai di nuovo online|Controlla qui|Invio non riuscito',
  pt: 'Fechar|Seguinte|Enviar|A enviar…|Outro|Escolha uma resposta|Copiar|Copiado|Obrigado|Será enviado quando estiver novamente online|Verifique isto|Não foi possível enviar',
  pl: 'Zamknij|Dalej|Wyślij|Wysyłanie…|Inne|Wybierz odpowiedź|Kopiuj|Skopiowano|Dziękujemy|Zostanie wysłane, gdy znów będziesz online|Sprawdź to pole|Nie udało się wysłać',
  ar: 'إغلاق|التالي|إرسال|جارٍ الإرسال…|أخرى|يرجى اختيار إجابة|نسخ|تم النسخ|شكرًا لك|سيتم الإرسال عند عودة الاتصال|يرجى التحقق من هذا|تعذّر الإرسال',
} as const;

/** What no definition has a text for, in a language, else in English. */
export function panelWords(locale: string): PanelWords {
  return wordsIn(WORDS, NAMES, locale);
}

const RIGHT_TO_LEFT: ReadonlySet<string> = new Set(['ar', 'ckb', 'dv', 'fa', 'he', 'ps', 'sd', 'ug', 'ur', 'yi']);

/** The direction that a language is written in. */
export function directionOf(locale: string): 'rtl' | 'ltr' {
  return RIGHT_TO_LEFT.has(locale.split('-')[0] ?? '') ? 'rtl' : 'ltr';
}
