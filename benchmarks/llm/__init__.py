"""Training a skill for a real, small language model on one thread; its optimizer model is a simulation.

What fetches the model is in `tools.fetch_llm`.
"""
