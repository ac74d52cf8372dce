// Words in the names of properties: those of identifiers and those of secrets.

import { normalised } from './normalise_text.ts';

/** What a person's record gives under a key. */
export type Feed =
  | 'email'
  | 'phone'
  /** Under a word that need not mean a phone. */
  | 'maybe_phone'
  | 'first_name'
  | 'last_name'
  | 'external_id'
  | 'client_ip'
  | 'client_user_agent'
  | 'city'
  | 'state'
  | 'zip'
  | 'country';
/**
 * When the value under a key is removed. `as_place`: when it went into a column. `if_bare_phone`: when
 * it is a phone number and no more. `if_anonymous`: an id of a visitor, in offline
 * mode. `if_offline`: other things that could lead to somebody, in offline mode; of an object that describes a person its
 * members are judged instead. `id_if_offline`: the same, inside such an object.
 */
export type RedactionRule =
  | 'never'
  | 'always'
  | 'if_phone'
  | 'if_bare_phone'
  | 'in_person'
  | 'if_anonymous'
  | 'if_offline'
  | 'id_if_offline'
  | 'as_place';
/** What the value under a key is a number or code of, where that tells it from other numbers. */
export type Names = 'article' | 'id';
/** What the object under a key describes. */
export type Opens = 'plain' | 'person' | 'feeding' | 'context' | 'phone';

/**
 * What goes before what, of several keys that feed the same: the name of the contract before any other for it,
 * before those of whom to ask, and last those of whom the goods go to.
 */
export const RANKS = { recipient: 0, contact: 1, alias: 2, contract: 3 } as const;

export interface KeyMeaning {
  removal: RedactionRule;
  feeds: Feed | null;
  /** How far what it feeds goes before others: of RANKS. */
  rank: number;
  /** Whether it feeds only from inside a person, because the spelling is too short to be sure elsewhere. */
  feedsInPersonOnly: boolean;
  opens: Opens;
  /** Whether the key itself may hold personal text. */
  suspicious: boolean;
  names: Names | null;
  /** What the value must be to go as a secret. */
  secret: SecretRemoval | null;
  /** Whether it names several secrets, so that a number alone is how many. */
  isPlural: boolean;
  /** Whether the value may be what somebody wrote into a field that another member names. */
  answers: boolean;
}

/**
 * The spellings under which senders put what identifies a person, in lower case without separators: those of Meta's,
 * TikTok's, Google's, Segment's and PostHog's libraries, of shops and of hand-written tags.
 */
export const EMAIL_WORDS =
  'email em mail emailaddress mailaddress emailid useremail usermail customeremail contactemail clientemail buyeremail billingemail shippingemail accountemail loginemail primaryemail personalemail workemail homeemail emailadresse mailadresse emailadres correo correoelectronico courriel adresseemail adressemail epost eposta sahkoposti';
export const PHONE_WORDS =
  'phone phonenumber phoneno phonee164 telephone telephonenumber telnumber mobilephone mobilephonenumber mobilenumber mobileno msisdn cellphone cellphonenumber cellnumber userphone userphonenumber customerphone customerphonenumber contactphone contactnumber billingphone shippingphone homephone workphone primaryphone whatsappnumber fax faxnumber';
/** The same in other languages, as people name the fields of their forms. */
export const FOREIGN_PHONE_WORDS =
  'telefon telefono telefone telefoon telefonnummer telefoonnummer telefonnr telefonszam mobilszam telefonnicislo telefonas telefonu numertelefonu nrtelefonu ceptelefonu telefonno puhelin puhelinnumero matkapuhelin tlf tlfnr handynummer handynr mobilnummer mobilnr rufnummer numerodetelephone numerodetelefono numerodetelefone numeroditelefono telemovel telepon nomortelepon notelp nohp nomorhp sodienthoai dienthoai sdt sốđiệnthoại điệnthoại sđt телефон номертелефона телефонный мобильныйтелефон τηλεφωνο κινητο 电话 电话号码 手机 手机号 手机号码 联系电话 電話 電話番号 携帯 携帯番号 携帯電話 手機 전화 전화번호 휴대폰 휴대폰번호 핸드폰 연락처 هاتف جوال رقمالهاتف رقمالجوال טלפון फोन मोबाइल เบอร์โทร โทรศัพท์';
/** The word itself as it stands in longer names: `broj_telefona`, `رقم_الموبايل`. */
export const PHONE_STEMS =
  'telefonit telefona telefonu telefonica telefonska telefónne telefonní telefoninumber telefonos telepono telefonbimbit nombortelefon mobitela mobitel mobiltelefon mobiltelefonnummer mobiltel puhelinnro símanúmer farsími simu tālruņa telefona_numurs komórkowy komórka telemóvel selfoon selfoonnommer foonu waya телефона телефону телефонен телефонски тэлефон телефонын мобильного мобильный утасны утас телефони հեռախոս հեռախոսահամար ტელეფონი ტელეფონის მობილური ስልክ الهاتف الموبايل موبايل الجوال المحمول محمول تلفن موبایل همراه فون موبائل মোবাইল ফোন फ़ोन मोबाईल தொலைபேசி கைபேசி மொபைல் ఫోన్ మొబైల్ ಫೋನ್ ಮೊಬೈಲ್ ഫോൺ മൊബൈൽ ફોન મોબાઇલ ਫ਼ੋਨ ਮੋਬਾਈਲ දුරකථන ໂທລະສັບ ເບີໂທລະສັບ ເບີໂທ ទូរស័ព្ទ លេខទូរស័ព្ទ ဖုန်း ဖုန်းနံပါတ် 휴대전화 휴대전화번호 行動電話 聯絡電話 手機號碼 電話號碼 移动电话 เบอร์มือถือ เบอร์โทรศัพท์ מספרטלפון';
/** Words that mean a phone only when the value looks like one: `mobile: true` does not. */
export const MAYBE_PHONE_WORDS =
  'waid tel ph mobile mob cell cel whatsapp wa viber handy gsm mobil mobiel celular movil cellulare cellulaire portable natel fon fono fone hp komorka тел моб мобильный נייד';
/** Words that mean a phone when the value looks like one, but not always that of the event's person. */
export const CALLER_WORDS =
  'nationalnumber fullnumber internationalnumber callerid caller callernumber callingnumber callednumber ani dnis smsnumber smsto';
/** Words under which stands a number to call, or as often something else: only what is nothing but a number is removed. */
export const CALL_WORDS = 'sms callback rückruf rueckruf';
/** Words that say that a key speaks of phones, not of somebody's number: `mobile_views`, `phone_verified_at`. */
export const NO_PHONE_PARTS =
  'id ids app apps ad ads view views click clicks visit visits session sessions impression impressions revenue sales orders order count counts total totals sum amount price cost budget value spend version build sku ean model case os device devices traffic conversions users bytes size width height screen page pages site sites web browser token time timestamp at date ts verified created updated url link path campaign utm banner sale score rank area tower';
export const FIRST_NAME_WORDS =
  'firstname fname fn givenname forename userfirstname customerfirstname billingfirstname shippingfirstname';
export const LAST_NAME_WORDS =
  'lastname lname ln surname familyname userlastname customerlastname billinglastname shippinglastname';
export const OTHER_NAME_WORDS =
  'fullname middlename maidenname nickname customername contactname recipientname cardholdername billingname shippingname personname buyername guestname passengername';
/** Words that mean a person's name only inside a person: elsewhere they name products and pages. */
export const PERSON_NAME_WORDS = 'name first last middle displayname line1 line2';
export const STREET_WORDS =
  'street streetaddress streetname street1 street2 address address1 address2 address3 addressline addressline1 addressline2 addressline3 homeaddress billingaddress shippingaddress deliveryaddress mailingaddress postaladdress customeraddress useraddress';
/** What is somebody else's as often as not, who must not become one person with the event's own. */
export const RECIPIENTS_KEY = /^(?:shipping|delivery|recipient|fax)/;
export const CONTACTS_KEY = /^contact/;
/** The names of the API. */
export const CONTRACT_KEYS: ReadonlySet<string> = new Set(
  'email phone first_name last_name city state zip country external_id client_ip_address client_user_agent'.split(' '),
);
export const EXTERNAL_ID_WORDS = 'externalid';
export const IP_WORDS =
  'clientipaddress clientip ip ipaddress userip useripaddress remoteip remoteaddr ipoverride visitorip customerip realip xforwardedfor';
export const USER_AGENT_WORDS = 'clientuseragent useragent rawuseragent useragentstring';
export const CITY_WORDS = 'city';
export const STATE_WORDS = 'state';
export const ZIP_WORDS = 'zip zipcode postalcode postcode cep';
export const COUNTRY_WORDS = 'country countrycode';
/** The same inside a person, where short spellings cannot be mistaken. */
export const PERSON_CITY_WORDS = 'ct town locality';
export const PERSON_STATE_WORDS = 'st region province';
export const PERSON_ZIP_WORDS = 'zp';
export const PERSON_COUNTRY_WORDS = 'countryname';
/** Ids of a visitor, a device or a click: each stands for one alone. */
export const VISITOR_ID_WORDS =
  'userid uid username login customerid clientid distinctid anonymousid anonid deviceid visitorid sessionid gaclientid gasessionid memberid accountid loyaltyid subscriberid contactid leadid personid profileid idfa idfv gaid aaid madid advertisingid fbp fbc fbloginid fbclid gclid gbraid wbraid dclid ttclid ttp msclkid twclid lifatid epik rdtcid rdtuuid sccid scclickid yclid ymclid igshid igsh irclickid clickid mceid mcuid kx hsenc hsmi hssc hstc hubspotutk veroid olyencid olyanonid mkttok ga gid gl gclaw gcldc gclau gclgb gclgs svcdid did uetmsclkid ttcsid criteoid ctobundle pubcid sharedid tdid uid2 euid id5id rampid liverampid permutiveid lotameid ppid hem oaid rida tifa lgudid appsflyerid adjustadid onesignalid brazeid emarsysid intercomid customerioid cioid kissmetricsid heapidentity sfmcsubkey membershipid kundenid numeroclient numerodeclient numclient numerocliente numerodecliente codicecliente codigocliente numeroadherent numerosocio numeroabonne lidnummer';
export const BIRTH_WORDS = 'dob dateofbirth birthday birthdate';
/** What identifies a visitor or a device: kept online, where it is what destinations match by, removed in offline mode. */
export const VISITOR_WORDS = `${VISITOR_ID_WORDS} ${BIRTH_WORDS} db gender ge cookie cookies alias`;
export const ORDER_ID_WORDS = 'orderid ordernumber orderno transactionid';

/** By what somebody could be found, alone or with what others know: kept online, removed in offline mode. */
export const TRACEABLE_WORDS =
  'anondistinctid previousid previousdistinctid pseudoid userpseudoid amplitudeid mixpaneldistinctid hjid adobemcid ecid mailid kid klaviyoid crmid cid windowid groups groupkey groupid groupset companyid company account customerno customernumber accountnumber accountno membernumber memberno loyaltycard loyaltynumber cardnumber subscriptionid iban ssn passport passportnumber password token jwt secret imei gpsadid androidid mac macaddress guid fingerprint pushtoken fcmtoken devicetoken device plate licenseplate vin lat latitude lng lon long longitude coordinates geo avatar instagram twitter session sid externalids';
/** An id, where it stands in what describes a person. */
export const PERSON_ID_WORDS = 'id';

/** Objects that describe the event's person: what they hold feeds the hashed identifiers. */
export const FEEDING_CONTAINER_WORDS = 'userdata user customer traits set setonce userproperties ud';
/** Objects that describe some person: names in them are removed and feed nothing. */
export const PERSON_CONTAINER_WORDS =
  'person people profile buyer contact client visitor recipient sender guest passenger attendee patient owner member employee lead subscriber billing shipping billto shipto customers users contacts buyers guests passengers attendees';
export const CONTEXT_CONTAINER_WORDS = 'context';

export const EMAIL_ENDING = /(?:email|emailaddress|emailid)(?:e?s)?$/;
/** `phone1`, `phone_home`, `billing-phone-2`, `primaryPhoneNumber`: the word, a number, and what says which phone it is. */
const WHICH =
  '(?:home|work|office|business|private|personal|primary|secondary|main|alt|alternate|alternative|other|second|emergency|day|daytime|evening|mobile|cell|contact|customer|client|user|buyer|guest|member|billing|shipping|delivery|recipient|sender|account|login|signup|lead|raw|full|formatted|international|intl|national|local|input|field|value|e164)*';
const NUMBER = '(?:number|no|num|nr|nummer|numero|numer)?';
const PHONE = '(?:phone|telephone|telefon|telefono|telefone|telefoon)';
const MAYBE_PHONE = '(?:tel|ph|mobile|mob|cell|cel|whatsapp|wa|handy|gsm|mobil|mobiel|celular|movil|fon|fax)';
export const ONE_OF_PHONES = new RegExp(`^${WHICH}${PHONE}${NUMBER}\\d{0,2}${WHICH}${NUMBER}\\d{0,2}$`);
export const ONE_OF_MAYBE_PHONES = new RegExp(`^${WHICH}${MAYBE_PHONE}${NUMBER}\\d{0,2}${WHICH}$`);
/** `ph_no`, `contact_no`, `gsm-nr`: with the word for number a short spelling is sure. */
export const PHONE_AND_NUMBER = new RegExp(
  `^${WHICH}(?:${MAYBE_PHONE}|contact|caller)(?:number|no|num|nr|nummer|numero|numer)\\d{0,2}$`,
);
export const COUNTED = /\d{1,2}$/;
/** What a form's field is called, and what somebody wrote into it: `{ name: 'phone', value: '...' }`. */
export const FIELD_WORDS =
  'name key field attr__name attr__id field_name fieldName field_label fieldLabel field_id fieldId field_type label type inputName input_name inputType input_type id question title property attribute column kind autocomplete Name Key Field Label Type';
export const ANSWER_WORDS =
  'value values attrvalue fieldvalue inputvalue val answer answers response text content input data';
export const PHONE_ENDING = /(?:phone|phonenumber|phoneno|telephone|msisdn|mobilenumber|mobileno)s?$/;
export const NAME_ENDING = /(?:firstname|givenname|forename|lastname|surname|familyname|fullname)s?$/;
export const STREET_ENDING = /(?:streetaddress|addressline\d?|homeaddress|billingaddress|shippingaddress)$/;
export const VISITOR_ENDING =
  /(?:clid|clickid|userid|distinctid|anonymousid|pseudoid|customerid|clientid|deviceid|visitorid|sessionid|memberid)$/;
/** Numbers and keys of a customer or of whoever is one of many, as shops, insurers and mailers have them. */
export const CUSTOMER_ENDING =
  /(?:(?:customer|client|member|membership|loyalty(?:card)?|subscriber|user|visitor|contact|person|patient|employee|student|staff|insurance|crm|player)(?:ids?|uuid|number|no|num|nr|ref|reference|key)|(?:kund(?:en?)?|mitglieds?|klant|asiakas|debitoren|abonnenten|versicherten)(?:nummer|nr|numero)|(?:cookie|browser|machine|hardware|instance|installation|install|persistent|pseudonymous)id|fingerprint(?:id)?)$/;
/** Cookies of the scripts that measure, whose names go on with the site's own number: `_ga_ABC123`, `_hjSessionUser_4711`. */
export const COOKIE_KEY =
  /^__?(?:gac?|gcl|gads|gpi|gl|scid|uet[vs]id|cl[cs]k|hj[a-z]+|pin|pinterest|derived|pk|vwo|shopify|kla|fs|lfa|lr|li|mkto)(?![a-z])/i;
/** What senders write around the word to say in what form the value is. */
export const FORM_PREFIX = /^(?:sha256|hashed|raw|plain)(?=.)/;
export const FORM_SUFFIX = /(?:sha256|hashed|hash|md5|raw|plain)$/;
export const PLURAL = /(?:(?<=s)es|s)$/;

/** What names an article, a part or a book: `sku`, `item_id`, `content_ids`, `g:gtin`, `Artikelnummer`. */
export const ARTICLE_KEY =
  /^(?:id|mpn|jan|isbn\d*|barcodes?|artikel|article|(?:item|product|article|content)(?:variant|code|number)|model(?:number|no))$|(?:gtin|ean|upc)\d{0,2}s?$|skus?$|(?:item|product|content|variant|article|style|part|model|catalog|listing|offer)(?:ids?|no|nr|number|code)$|(?:artikel|bestell|teile|material)(?:nr|nummer)$/;
/** What names one thing among others: no card's number stands under it. */
export const ID_KEY =
  /(?:ids?|uid|uuid|guid|clid|hash|cookie|trace|tracking|invoice|transaction|session|order|variant|campaign|utm(?:term|content)|ref|reference|fbp|fbc|gl|ga)$|(?:order|invoice|tracking|serial|customer|ticket|booking|transaction|receipt|reference|reservation|quote|shipment|parcel|account|member|loyalty|confirmation|case|request|increment)(?:number|num|no|nr|code|key)$/;

/**
 * What a value must be to go as a secret, by the key that it stands under. `secret`: any text or number. `secret_text`: one
 * word of six characters or more, as tokens and keys are; a number where it is long enough. `secret_long`: the same of
 * sixteen, with a digit or a capital within. `secret_field`: one of four that is no word, as what somebody wrote into a
 * field may be. `secret_code`: three digits or more and no words. `secret_number`: a text with five digits or more, as
 * national ids and accounts have.
 */
export type SecretRemoval = 'secret' | 'secret_text' | 'secret_long' | 'secret_field' | 'secret_code' | 'secret_number';

const PASSWORDS =
  'passphrase passcode pass_code mot_de_passe contraseña clave_de_acceso clave_acceso clave_secreta senha palavra_passe parola parola_d_accesso wachtwoord lösenord adgangskode adgangsord passord salasana hasło heslo jelszó пароль парола κωδικός_πρόσβασης συνθηματικό şifre סיסמה סיסמא كلمة_المرور كلمة_السر رمز_عبور گذرواژه پاسورڈ पासवर्ड কূটশব্দ পাসওয়ার্ড รหัสผ่าน mật_khẩu kata_sandi kata_laluan 密码 密碼 パスワード 暗証番号 비밀번호 암호 security_answer secret_answer private_key authorization proxy_authorization x_authorization credentials passwd_hash geheimnummer';
/** Also in front of what says which: `smtp_pass`, `root_pw`, `newPassword2`. */
const PASSWORD_ENDING =
  /(?:password|passwd|passwort|kennwort|passwrd|pwd|motdepasse|contrasena|wachtwoord|(?<=smtp|db|user|mail|ftp|login|admin|root|my)(?:pass|pw))(?:confirm|confirmation|repeat|again|verify|retype|reenter|first|second|new|old|current|hash|salt|wiederholen|wiederholung|bestatigen|bestatigung|neu|alt|confirmer|confirmar|repetir|ripeti|conferma|herhalen|bevestigen|\d{1,2})?$/;

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

/** What a secret's value, and the field of a form that it is written into, is called behind the secret's name. */
export const SECRET_VALUE = /(?:value|val)$/;
export const SECRET_FIELD = /(?:input|field|text)$/;
/** The same as names of their own: `password.value`, `plainPassword[first]`, `ssn: { number: … }`. */
const HELD = /^(?:value|val|raw|plain|current|new|old|first|second|confirm|confirmation|repeat|input|text)$/;
const HELD_NUMBER = /^(?:number|no|nr|num|code)$/;

/** Whether what stands under a name within a secret's is the secret itself. */
export function holdsSecret(secret: SecretRemoval, name: string): boolean {
  if (HELD.test(name)) return true;
  return (secret === 'secret_number' || secret === 'secret_code') && HELD_NUMBER.test(name);
}

/** What it must be there: whatever else an object of a token says, as of a coin's, is shorter. */
export const heldSecret = (secret: SecretRemoval): SecretRemoval => (secret === 'secret_text' ? 'secret_long' : secret);

const DIGIT = /\p{Nd}/gu;
const CODE = /^[\p{Nd}\s-]{3,16}$/u;
const WORD = /^\S{6,}$/;
const FIELD_WORD = /^\S{4,}$/;
const COUNT = /^\s*\p{Nd}{1,6}\s*$/u;
const LONG_WORD = /^(?=.*(?:\d|[a-z][A-Z]))\S{16,}$/;
const NUMBER_DIGITS_MIN = 5;
const NUMBER_CHARACTERS_MAX = 60;
const CODE_MIN = 100;
const NUMBER_MIN = 10_000;

/**
 * Words alone, as two methods of signing in are listed: `['password', 'google']`. No text is matched by it in two ways, as looking for
 * all of them would take time without end.
 */
export const WORDS = /^(?:\p{Lu}{2,}|\p{L}\p{Ll}*)(?:[ _-](?:\p{Lu}{2,}|\p{L}\p{Ll}*))*$/u;

/** Whether what stands under a key is a secret by what the key says. */
export function isSecretOf({ secret, isPlural }: KeyMeaning, value: unknown): boolean {
  if (secret === null || (isPlural && (typeof value === 'number' || (typeof value === 'string' && COUNT.test(value)))))
    return false;
  return isSecret(secret, value);
}

/** Lists in each other that are looked through: as many as properties may have. */
const LISTS_MAX = 16;

/** Whether what stands under such a key is a secret, by itself or as one of a list. */
export function isSecret(removal: SecretRemoval, value: unknown, depth = 0): boolean {
  if (Array.isArray(value)) return depth >= LISTS_MAX || value.some((one) => isSecret(removal, one, depth + 1));
  if (typeof value === 'number') return isSecretNumber(removal, value);
  if (typeof value !== 'string') return false;
  switch (removal) {
    case 'secret':
      return value.trim() !== '';
    case 'secret_text':
      return WORD.test(value.trim());
    case 'secret_long':
      return LONG_WORD.test(value.trim());
    case 'secret_field':
      return FIELD_WORD.test(value.trim()) && !WORDS.test(value.trim());
    case 'secret_code':
      return CODE.test(value.trim());
    case 'secret_number':
      return value.length <= NUMBER_CHARACTERS_MAX && (value.match(DIGIT)?.length ?? 0) >= NUMBER_DIGITS_MIN;
  }
}

function isSecretNumber(removal: SecretRemoval, value: number): boolean {
  if (removal === 'secret_long' || removal === 'secret_field') return false;
  return removal === 'secret' || value >= (removal === 'secret_code' ? CODE_MIN : NUMBER_MIN);
}

const SEPARATORS = /[^\p{L}\p{N}]+/gu;
const NOT_ASCII = /[^\0-\x7f]/;

/** Lower case without separators and accents: `First-Name`, `first_name` and `firstName` are one word. */
export function comparableForm(text: string): string {
  const plain = NOT_ASCII.test(text) ? normalised(text, 'NFKD') : text;
  return plain.replace(SEPARATORS, '').toLowerCase();
}
