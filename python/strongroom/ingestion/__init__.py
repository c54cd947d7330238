"""Ingestion: folders of Markdown and text into collections of knowledge, and citations back out."""

from strongroom.ingestion.citing import Citation, cite, resolve
from strongroom.ingestion.embedding import Embedder, load_embedder, make_embedder, spec_of
from strongroom.ingestion.folder import ingest_folder
from strongroom.ingestion.report import IngestReport, Recipe, Vanished
from strongroom.ingestion.splitting import Splitter

__all__ = [
    "Citation",
    "Embedder",
    "IngestReport",
    "Recipe",
    "Splitter",
    "Vanished",
    "cite",
    "ingest_folder",
    "load_embedder",
    "make_embedder",
    "resolve",
    "spec_of",
]
