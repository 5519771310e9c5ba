//! TLS by rustls, with the modes of libpq.

use super::address::{TlsMode, TlsUse};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// Where distributions keep the certificates of authorities; `SSL_CERT_FILE` comes first.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Makes the TLS of a connection.
#[derive(Clone)]
pub(super) struct StoreTls(Arc<ClientConfig>);

impl StoreTls {
    /// Errors: a file of certificates cannot be used.
    pub fn new(mode: TlsMode, tls: &TlsUse) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(mode, tls, &provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let Some((certificate, key)) = &tls.client else {
            return Ok(Self(Arc::new(config.with_no_client_auth())));
        };
        let chain = certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
        let config = config.with_client_auth_cert(chain, key);
        let why = |error| format!("{} cannot be used: {error}", certificate.display());
        Ok(Self(Arc::new(config.map_err(why)?)))
    }
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{} cannot be read: {error}", file.display())
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<_, _>>);
    let found: Vec<_> = found.map_err(|error| unreadable(file, &error))?;
    if found.is_empty() {
        return Err(unreadable(file, &"it has no certificate (PEM)"));
    }
    Ok(found)
}

/// As libpq: `require` verifies the authority where a file of authorities is named.
fn verifier(
    mode: TlsMode,
    tls: &TlsUse,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let checks_authority = match mode {
        TlsMode::Disable | TlsMode::Prefer => false,
        TlsMode::Require => tls.roots.is_some(),
        TlsMode::VerifyCa | TlsMode::VerifyFull => true,
    };
    if !checks_authority {
        return Ok(Arc::new(Lenient { provider: Arc::clone(provider), authority: None }));
    }
    let file = match &tls.roots {
        Some(file) => file.clone(),
        None => system_roots()?,
    };
    let mut roots = RootCertStore::empty();
    // A system may hold one that is too odd for this library.
    let (added, _) = roots.add_parsable_certificates(certificates(&file)?);
    if added == 0 {
        return Err(unreadable(&file, &"none of its certificates is an authority's"));
    }
    let strict =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    let strict = strict.map_err(|error| unreadable(&file, &error))?;
    Ok(match mode {
        TlsMode::VerifyFull => strict,
        _ => Arc::new(Lenient { provider: Arc::clone(provider), authority: Some(strict) }),
    })
}

fn system_roots() -> Result<PathBuf, String> {
    let own = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let places = own.into_iter().chain(SYSTEM_ROOTS.map(PathBuf::from));
    let found = places.into_iter().find(|place| place.is_file());
    found.ok_or_else(|| {
        "this machine has no certificates of authorities; install ca-certificates, or name a file with sslrootcert"
            .to_string()
    })
}

/// Takes a certificate for any name; without an authority, of anyone.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    authority: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        // The name is checked last: a chain that is wrong has another error.
        match authority.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for StoreTls {
    type Stream = StoreTlsStream<S>;
    type TlsConnect = StoreTlsConnect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<StoreTlsConnect> {
        // Of a socket there is no name, nor TLS.
        let name = if host.is_empty() { "localhost" } else { host };
        let name = ServerName::try_from(name.to_string()).map_err(io::Error::other)?;
        Ok(StoreTlsConnect { config: Arc::clone(&self.0), name })
    }
}

pub(super) struct StoreTlsConnect {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for StoreTlsConnect {
    type Stream = StoreTlsStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<StoreTlsStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let shaken = TlsConnector::from(self.config).connect(self.name, stream);
        Box::pin(async move { Ok(StoreTlsStream(shaken.await?)) })
    }
}

pub(super) struct StoreTlsStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for StoreTlsStream<S> {
    /// Verified certificates protect the login; a binding would need a parser of certificates.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for StoreTlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for StoreTlsStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
