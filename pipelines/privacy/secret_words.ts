/**
 * What a value must be to go as a secret, by the key that it stands under. `secret`: any text or number. `secret_text`: one word of
 * six characters or more, as tokens and keys are; a number where it is long enough. `secret_long`: the same of sixteen,
 * with a digit or a capital within. `secret_code`: three digits or more and no words. `secret_number`: a text with five digits or more, as national ids and
 * accounts have.
 */
export type SecretRemoval = 'secret' | 'secret_text' | 'secret_long' | 'secret_code' | 'secret_number';

const PASSWORDS =
  'passphrase passcode pass_code mot_de_passe contraseña clave_de_acceso clave_acceso clave_secreta senha palavra_passe parola parola_d_accesso wachtwoord lösenord adgangskode adgangsord passord salasana hasło heslo jelszó пароль парола κωδικός_πρόσβασης συνθηματικό şifre סיסמה סיסמא كلمة_المرور كلمة_السر رمز_عبور گذرواژه پاسورڈ पासवर्ड কূটশব্দ পাসওয়ার্ড รหัสผ่าน mật_khẩu kata_sandi kata_laluan 密码 密碼 パスワード 暗証番号 비밀번호 암호 security_answer secret_answer private_key authorization proxy_authorization x_authorization credentials passwd_hash geheimnummer';
/** Also in front of what says which: `smtp_pass`, `root_pw`, `newPassword2`. */
const PASSWORD_ENDING =
  /(?:password|passwd|passwort|kennwort|passwrd|pwd|motdepasse|contrasena|wachtwoord|(?<=smtp|db|user|mail|ftp|login|admin|root|my)(?:pass|pw))(?:confirm|confirmation|repeat|again|verify|new|old|current|hash|salt|\d{1,2})?$/;

const TOKENS =
  'token jwt bearer secret otp_secret totp_secret app_secret_proof pw psk sig x_amz_signature x_amz_security_token x_goog_signature x_ms_signature oauth_signature oauth_verifier code_verifier jsessionid phpsessid asp_net_session_id connect_sid sessid session_key session_secret recovery_code recovery_codes backup_code backup_codes recovery_phrase seed_phrase mnemonic magic_link api_key apikey x_api_key secret_key private_key_id access_key access_key_secret aws_secret_access_key signing_key encryption_key decryption_key account_key shared_access_key master_key consumer_key auth_key server_key service_key service_role_key webhook_key hmac_key ssh_key';
const TOKEN_ENDING =
  /(?:token|jwt|bearer|(?:api|secret|private|signing|encryption|shared|sharedaccess|account|consumer|master)key|(?:client|app|api|webhook|signing|shared|consumer|jwt|oauth|session|hmac|cookie|bot)secret|secretaccesskey)$/;
const LONG = 'tokens auth signature auth_header x_signature x_hub_signature hmac csrf xsrf nonce_token cookie_header';

const CODES =
  'otp otp_code totp totp_code one_time_code one_time_pin mfa mfa_code 2fa 2fa_code tfa_code two_factor_code auth_code authentication_code verification_code verify_code sms_code security_code login_code access_code_pin confirmation_pin pin pin_number card_pin atm_pin user_pin login_pin tan mtan cvv cvc cvv2 cvc2 cvn cvn2 cvd csc cid_code card_code cvv_code cvc_code card_security_code card_verification_code card_verification_value card_verification_number verification_value prüfziffer prüfnummer kartenprüfnummer prüfziffer_karte código_de_seguridad codigo_seguridad código_de_segurança cryptogramme code_de_sécurité codice_di_sicurezza beveiligingscode 验证码 安全码 認証コード セキュリティコード 인증번호 код_подтверждения';
const CODE_ENDING = /(?:cvv2?|cvc2?|otp|totp|securitycode|mfacode|2facode|smscode|cardpin)$/;

const NUMBERS =
  'iban bank_account bank_account_number bank_account_no account_iban sort_code_account clabe cuenta_bancaria número_de_cuenta kontonummer numero_de_compte rekeningnummer номер_счета 银行账号 口座番号 계좌번호 pan primary_account_number card_pan cc ccn cc_num ccnum cc_number cc_no card card_no card_num card_number credit_card credit_card_number creditcard_no debit_card debit_card_number payment_card bank_card kartennummer kreditkarte kreditkartennummer numero_de_carte numéro_carte carte_bancaire número_de_tarjeta numero_tarjeta tarjeta tarjeta_de_credito numero_carta carta_di_credito número_do_cartão numero_cartao cartao kaartnummer creditcardnummer kortnummer kortinnumero numer_karty číslo_karty kártyaszám kart_numarası номер_карты номер_картки 卡号 银行卡号 信用卡号 信用卡號 カード番号 クレジットカード番号 카드번호 رقم_البطاقة หมายเลขบัตร số_thẻ ssn ssn_last4 social_security social_security_number social_security_no social_security_num social_insurance_number sin sin_number nino ni_number national_insurance national_insurance_number national_insurance_no itin tin_number tax_id tax_id_number tax_number taxpayer_id cpf cpf_cliente cpf_cnpj rg curp rfc rut cuil cuit dni nie nif nie_nif documento_identidad número_de_documento cédula cedula codice_fiscale codicefiscale bsn burgerservicenummer rijksregisternummer insz niss personnummer cpr cpr_nummer cpr_number fødselsnummer fodselsnummer henkilötunnus hetu kennitala isikukood asmens_kodas personas_kods pesel rodné_číslo rodne_cislo cnp egn егн jmbg јмбг oib emso emšo amka αμκα afm tckn tc_kimlik tc_kimlik_no kimlik_no aadhaar aadhar aadhaar_number aadhaar_no uidai cnic nric nric_fin hkid teudat_zehut תעודת_זהות מספר_זהות 身份证 身份证号 身份证号码 身分證字號 주민등록번호 マイナンバー 個人番号 steuer_id steueridentifikationsnummer steuernummer sozialversicherungsnummer rentenversicherungsnummer svnr ahv ahv_nummer ahv_number numéro_de_sécurité_sociale numero_securite_sociale numero_secu nir insee personalausweis personalausweisnummer ausweisnummer national_id national_id_number national_identification_number national_identity_number identity_number identity_card_number id_card_number id_number citizen_id government_id инн снилс паспорт номер_паспорта серия_паспорта passport passport_number passport_no passport_num reisepass reisepassnummer numero_passeport numéro_de_passeport passeport pasaporte número_de_pasaporte passaporte passaporto numero_passaporto paspoort paspoortnummer pasnummer passnummer passinnumero numer_paszportu číslo_pasu pasaport_no 护照 护照号 护照号码 護照號碼 パスポート番号 여권번호 رقم_الجواز رقم_الهوية drivers_license drivers_license_number driver_license driver_license_number driver_licence_number driving_licence driving_license_number drivers_licence licence_number_driver führerschein führerscheinnummer permis_de_conduire carnet_de_conducir patente_numero rijbewijs rijbewijsnummer cnh health_insurance_number medicare_number nhs_number krankenversichertennummer kvnr versichertennummer carte_vitale';
const NUMBER_ENDING =
  /(?:iban|(?:credit|debit|bank|payment)card(?:number|no|num)?|cardnumber|(?<!i)ssn|socialsecurity(?:number|no)|passport(?:number|no)|nationalid(?:number)?|driverslicense|aadhaar(?:number|no)?)$/;

/** Exact names with what a value under them must be; and how longer names end. */
export const SECRET_WORDS: readonly (readonly [SecretRemoval, words: string])[] = [
  ['secret', PASSWORDS],
  ['secret_text', TOKENS],
  ['secret_long', LONG],
  ['secret_code', CODES],
  ['secret_number', NUMBERS],
];
export const SECRET_ENDINGS: readonly (readonly [SecretRemoval, ending: RegExp])[] = [
  ['secret', PASSWORD_ENDING],
  ['secret_text', TOKEN_ENDING],
  ['secret_code', CODE_ENDING],
  ['secret_number', NUMBER_ENDING],
];

const DIGIT = /\p{Nd}/gu;
const CODE = /^[\p{Nd}\s-]{3,16}$/u;
const WORD = /^\S{6,}$/;
const LONG_WORD = /^(?=.*(?:\d|[a-z][A-Z]))\S{16,}$/;
const NUMBER_DIGITS_MIN = 5;
const NUMBER_CHARACTERS_MAX = 60;
const CODE_MIN = 100;
const NUMBER_MIN = 10_000;

/** Whether what stands under such a key is a secret, by itself or as one of a list. */
export function isSecret(removal: SecretRemoval, value: unknown): boolean {
  if (Array.isArray(value)) return value.some((one) => isSecret(removal, one));
  if (typeof value === 'number') return isSecretNumber(removal, value);
  if (typeof value !== 'string') return false;
  switch (removal) {
    case 'secret':
      return value.trim() !== '';
    case 'secret_text':
      return WORD.test(value.trim());
    case 'secret_long':
      return LONG_WORD.test(value.trim());
    case 'secret_code':
      return CODE.test(value.trim());
    case 'secret_number':
      return value.length <= NUMBER_CHARACTERS_MAX && (value.match(DIGIT)?.length ?? 0) >= NUMBER_DIGITS_MIN;
  }
}

function isSecretNumber(removal: SecretRemoval, value: number): boolean {
  if (removal === 'secret_long') return false;
  return removal === 'secret' || value >= (removal === 'secret_code' ? CODE_MIN : NUMBER_MIN);
}
